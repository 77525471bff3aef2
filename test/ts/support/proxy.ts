import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { withAddress } from "./url.js";

/** A TCP proxy in front of a server, with the faults of a network. */
export interface Proxy {
  readonly port: number;
  /** The database behind it, by way of the proxy. */
  readonly url: string;
  /** Connections that stand now. */
  readonly connections: number;
  /** Resets every connection; new ones are accepted. */
  cut(): void;
  /** true: new connections are refused (and those that stand are reset). */
  refuse(on: boolean): Promise<void>;
  /** true: nothing passes in either direction, and nobody is told: a cable was pulled. */
  blackhole(on: boolean): void;
  /** true: what the server says is dropped: a statement runs and its answer is lost. */
  swallowReplies(on: boolean): void;
  /** Holds back every piece of data by so much, in each direction. */
  delay(milliseconds: number): void;
  close(): Promise<void>;
}

export async function startProxy(targetUrl: string): Promise<Proxy> {
  const target = new URL(targetUrl);
  const pairs = new Set<readonly [Socket, Socket]>();
  /** Their other end went while nothing passed; they learn of it afterwards. */
  const widowed = new Set<Socket>();
  let silent = false;
  let deaf = false;
  let delayMs = 0;

  const server = createServer((near) => {
    const far = connect(Number(target.port || 5432), target.hostname);
    const pair = [near, far] as const;
    pairs.add(pair);
    pass(near, far, () => silent);
    pass(far, near, () => silent || deaf);
    for (const socket of pair) {
      socket.on("error", () => undefined);
      socket.on("close", () => {
        pairs.delete(pair);
        widowed.delete(socket);
        const other = socket === near ? far : near;
        if (!silent) other.destroy();
        else if (!other.destroyed) widowed.add(other);
      });
    }
  });

  /** Keeps the order: timers of equal length fire in the order in which they were set. */
  function pass(from: Socket, to: Socket, dropped: () => boolean): void {
    from.on("data", (data) => {
      if (dropped()) return;
      if (delayMs > 0) setTimeout(() => to.write(data), delayMs);
      else to.write(data);
    });
    from.on("end", () => {
      if (!dropped()) to.end();
    });
  }

  async function listen(port: number): Promise<number> {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  }
  const cut = (): void => {
    for (const pair of pairs) pair.forEach((socket) => socket.resetAndDestroy());
  };
  const stopListening = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    cut();
    await closed;
  };

  const port = await listen(0);
  return {
    port,
    url: withAddress(targetUrl, "127.0.0.1", port),
    get connections() {
      return pairs.size;
    },
    cut,
    async refuse(on) {
      if (on) await stopListening();
      else if (!server.listening) await listen(port);
    },
    blackhole(on) {
      silent = on;
      if (!on) for (const socket of widowed) socket.destroy();
    },
    swallowReplies: (on) => void (deaf = on),
    delay: (milliseconds) => void (delayMs = milliseconds),
    async close() {
      silent = false;
      for (const socket of widowed) socket.destroy();
      await stopListening();
    },
  };
}
