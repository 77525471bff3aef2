import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

/** A few hosts of pages that link to each other, on this machine. They dislike being asked too often. */
export interface FakeSite {
  /** `127.0.0.1:port`, one a host. */
  readonly hosts: readonly string[];
  readonly home: string;
  /** Requests that were answered with the page, by URL. */
  readonly served: ReadonlyMap<string, number>;
  /** How many were told to come back later. */
  readonly refused: number;
  close(): Promise<void>;
}

export async function startFakeSite({ hosts = 2, pages = 30, busyEvery = 10 } = {}): Promise<FakeSite> {
  const served = new Map<string, number>();
  let refused = 0;
  const servers: Server[] = [];
  const names: string[] = [];
  for (let host = 0; host < hosts; host++) {
    let asked = 0;
    const server = createServer((request, response) => {
      const url = `http://${names[host]}${request.url}`;
      const page = Number(/^\/(\d+)$/.exec(request.url ?? "")?.[1] ?? Number.NaN);
      if (!(page < pages)) return void response.writeHead(404).end();
      // Every so many requests are one too many.
      if (++asked % busyEvery === 0) {
        refused++;
        return void response.writeHead(429, { "retry-after": "1" }).end();
      }
      served.set(url, (served.get(url) ?? 0) + 1);
      const links = linksOf(page, pages).flatMap((to) =>
        names.map((name) => `<a href="http://${name}/${to}">${to}</a>`),
      );
      response.writeHead(200, { "content-type": "text/html" }).end(links.join("\n"));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    servers.push(server);
    names.push(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  }
  return {
    hosts: names,
    home: `http://${names[0]}/0`,
    served,
    get refused() {
      return refused;
    },
    async close() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

/** Every page can be reached from page 0, most by many ways. */
function linksOf(page: number, pages: number): number[] {
  return [0, 2 * page + 1, 2 * page + 2, (7 * page) % pages, page === 0 ? pages - 1 : page - 1].filter(
    (to) => to < pages,
  );
}
