// timeout: 300 s
import { Cron } from "croner";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { testDatabase } from "./support/database.js";

const nextTick = suite("next_tick");
const database = await testDatabase();

const zones = [
  "UTC",
  "America/New_York",
  "Europe/Berlin",
  "Europe/London",
  "Australia/Lord_Howe",
  "Africa/Cairo",
  "America/Santiago",
  "Asia/Kathmandu",
  "Pacific/Apia",
  "Africa/Casablanca",
  "Pacific/Chatham",
  "Asia/Tehran",
];
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** A generator of numbers with a seed, so that a failure can be had again. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * below);
  };
}

interface Field {
  /** As we read it. */
  readonly ours: string;
  /** The same values as a list, or `*`. */
  readonly plain: string;
}

const names: Record<string, readonly string[]> = {
  month: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
  weekday: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};

function randomField(
  random: (below: number) => number,
  kind: string,
  least: number,
  greatest: number,
  starShare: number,
): Field {
  if (random(100) < starShare) return { ours: "*", plain: "*" };
  const weekday = kind === "weekday";
  const values = new Set<number>();
  const items: string[] = [];
  const word = (value: number): string => {
    if (weekday && value === 0 && random(3) === 0) return "7";
    const name = names[kind]?.[value - least];
    if (name === undefined || random(2) === 0)
      return random(4) === 0 ? String(value).padStart(2, "0") : String(value);
    return random(2) === 0 ? name : name.toUpperCase();
  };
  // As the first day of a range 7 is 0, and as the last it is not: left to the tests in SQL.
  const edge = (value: number): string => (weekday ? String(value) : word(value));
  const add = (value: number): void => void values.add(weekday ? value % 7 : value);
  for (let i = random(3); i >= 0; i--) {
    const from = least + random(greatest - least + 1);
    const to = weekday ? least + random(7) : from + random(greatest - from + 1);
    const step = 1 + random(Math.min(greatest - least + 1, 12));
    switch (random(5)) {
      case 0:
        items.push(word(from));
        add(from);
        break;
      case 1:
        items.push(`*/${step}`);
        for (let value = least; value <= greatest; value += step) add(value);
        break;
      case 2:
        items.push(`${from}/${step}`);
        for (let value = from; value <= greatest; value += step) add(value);
        break;
      default: {
        const stepped = random(2) === 0 && step > 1;
        items.push(`${edge(from)}-${edge(to)}${stepped ? `/${step}` : ""}`);
        for (let value = from; value <= (to < from ? to + 7 : to); value += stepped ? step : 1) add(value);
      }
    }
  }
  return { ours: items.join(","), plain: [...values].sort((a, b) => a - b).join(",") };
}

/** Wall clocks by the time zones of JavaScript; a wall time is written as the UTC instant that looks the same. */
class Clock {
  readonly #format: Intl.DateTimeFormat;
  readonly #offsets = new Map<number, number>();
  constructor(readonly zone: string) {
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  }
  offset(at: number): number {
    const quarter = Math.floor(at / (15 * minute)) * 15 * minute;
    let offset = this.#offsets.get(quarter);
    if (offset === undefined) {
      const parts = Object.fromEntries(
        this.#format.formatToParts(quarter).map(({ type, value }) => [type, Number(value)]),
      ) as Record<"year" | "month" | "day" | "hour" | "minute" | "second", number>;
      const { year, month, day: date } = parts;
      offset = Date.UTC(year, month - 1, date, parts.hour, parts.minute, parts.second) - quarter;
      this.#offsets.set(quarter, offset);
    }
    return offset;
  }
  wall(at: number): number {
    return at + this.offset(at);
  }
  /** The first instant at which the clock shows this, or undefined when it never does. */
  first(wall: number): number | undefined {
    const instants: number[] = [];
    for (let at = wall - 30 * hour; at <= wall + 30 * hour; at += 6 * hour) {
      const instant = wall - this.offset(at);
      if (this.wall(instant) === wall) instants.push(instant);
    }
    return instants.length === 0 ? undefined : Math.min(...instants);
  }
}

/** croner says which wall times a spec names; the rules of docs/schedules.md say which instants those are. */
function expectedTick(cron: Cron, clock: Clock, after: number): number | null {
  let wall: number | undefined = Math.floor(clock.wall(after) / second) * second;
  for (let round = 0; round < 20_000; round++) {
    wall = cron.nextRun(new Date(wall))?.getTime();
    if (wall === undefined) return null;
    const instant = clock.first(wall);
    if (instant !== undefined && instant > after) return instant;
  }
  throw new Error("no end");
}

async function ticks(specs: readonly string[], after: readonly number[]): Promise<number[]> {
  const rows = await database.query<{ tick: string }>(
    `select :SCHEMA.next_tick(c.spec, c.after_ms) as tick
     from unnest($1::text[], $2::bigint[]) with ordinality c (spec, after_ms, n) order by c.n`,
    [specs, after],
  );
  return rows.map(({ tick }) => Number(tick));
}

/** Zones about which this server and this Node have the same rules; their data may be of different years. */
async function agreedZones(): Promise<Clock[]> {
  const instants = Array.from({ length: 17 * 366 }, (_, index) => Date.UTC(2024, 0, 1) + index * day);
  const agreed: Clock[] = [];
  for (const clock of zones.map((zone) => new Clock(zone))) {
    const rows = await database.query<{ offset: string }>(
      `select extract(epoch from timezone($1, to_timestamp(s / 1000)))::bigint * 1000 - s as offset
       from unnest($2::bigint[]) with ordinality i (s, n) order by n`,
      [clock.zone, instants],
    );
    if (rows.every(({ offset }, index) => Number(offset) === clock.offset(instants[index]!)))
      agreed.push(clock);
  }
  return agreed;
}

nextTick("agrees with croner about random specs, zones and instants", async () => {
  const random = randomNumbers(20261129);
  const clocks = await agreedZones();
  assert.ok(clocks.length >= 6, `too few zones agree: ${clocks.map(({ zone }) => zone).join(", ")}`);
  const changes = new Map(
    clocks.map((clock) => {
      const found: number[] = [];
      for (let at = Date.UTC(2024, 0, 1); at < Date.UTC(2034, 0, 1); at += day) {
        if (clock.offset(at) !== clock.offset(at + day)) found.push(at);
      }
      return [clock, found] as const;
    }),
  );
  const cases: { spec: string; plain: string; clock: Clock; after: number }[] = [];
  for (let index = 0; index < 3000; index++) {
    const clock = clocks[random(clocks.length)]!;
    const withSeconds = random(3) === 0;
    const fields = [
      withSeconds ? randomField(random, "second", 0, 59, 10) : { ours: "", plain: "0" },
      randomField(random, "minute", 0, 59, 20),
      randomField(random, "hour", 0, 23, 30),
      randomField(random, "day", 1, 31, 60),
      randomField(random, "month", 1, 12, 60),
      randomField(random, "weekday", 0, 6, 60),
    ];
    const ours = fields
      .slice(withSeconds ? 0 : 1)
      .map((field) => field.ours)
      .join(" ");
    const plain = fields.map((field) => field.plain).join(" ");
    const near = changes.get(clock)!;
    const after =
      near.length > 0 && random(2) === 0
        ? near[random(near.length)]! + random(48 * hour) - 18 * hour
        : Date.UTC(2024, 0, 1) + random(16 * 365) * day + random(day);
    cases.push({ spec: clock.zone === "UTC" ? ours : `CRON_TZ=${clock.zone} ${ours}`, plain, clock, after });
  }
  const possible: ((typeof cases)[number] & { expected: number })[] = [];
  const impossible: string[] = [];
  for (const one of cases) {
    const expected = expectedTick(
      new Cron(one.plain, { timezone: "UTC", paused: true }),
      one.clock,
      one.after,
    );
    if (expected === null) impossible.push(one.spec);
    else possible.push({ ...one, expected });
  }
  const found = await ticks(
    possible.map(({ spec }) => spec),
    possible.map(({ after }) => after),
  );
  const wrong = possible
    .map((one, index) => ({ ...one, found: found[index]! }))
    .filter(({ expected, found: tick }) => expected !== tick)
    .map((one) => `${one.spec} (${one.plain}) after ${one.after}: ${one.found}, not ${one.expected}`);
  assert.equal(wrong.slice(0, 10), []);
  assert.ok(possible.length > 2500);
  for (const spec of impossible) {
    await database.query("select :SCHEMA.next_tick($1, 0)", [spec]).then(
      () => assert.unreachable(`${spec} never fires by croner`),
      (error: { code?: string }) => assert.is(error.code, "HR007", spec),
    );
  }
});

const specs = [
  "* * * * *", "*/5 * * * *", "0 * * * *", "30 * * * *", "15,45 * * * *", "0 0 * * *", "30 0 * * *", "0 1 * * *",
  "30 1 * * *", "0 2 * * *", "30 2 * * *", "15 2 * * *", "0 3 * * *", "0 4 * * *", "0 12 * * *", "0 */2 * * *",
  "0 */6 * * *", "0 0 1 * *", "0 0 31 * *", "30 2 * * 0", "0 0 * * 5", "0 2 29 2 *", "0 0 1 1 *", "0 9 * * 1-5",
  "* * * * * *", "*/10 * * * * *", "59 59 23 * * *", "30 30 2 * * *", "0 0 13 * 5", "45 1-3 * * *",
]; // prettier-ignore

nextTick("is later than its start and rises with it, around every change of clocks (R-65)", async () => {
  for (const zone of zones) {
    const [bad] = await database.query(
      `with changes as (
         select :SCHEMA.zone_change($1, d, d + 86400) as at_s
         from generate_series(1767225600, 1861919999, 86400) d
         where :SCHEMA.zone_offset($1, d) <> :SCHEMA.zone_offset($1, d + 86400)
       ), starts as (
         select c.at_s * 1000 + k * 600000 as after_ms from changes c, unnest(array[-18, -6, -3, 0, 3, 6, 18]) k
         union all select 1780000000000 + k * 600000 from generate_series(0, 12) k
       ), found as (
         select s.spec, t.after_ms, :SCHEMA.next_tick('CRON_TZ=' || $1 || ' ' || s.spec, t.after_ms) as tick_ms
         from unnest($2::text[]) s (spec), starts t
       )
       select f.* from (
         select f.*, lag(f.tick_ms) over (partition by f.spec order by f.after_ms) as earlier_ms from found f) f
       where f.tick_ms <= f.after_ms or f.tick_ms < f.earlier_ms`,
      [zone, specs],
    );
    assert.is(bad, undefined, `${zone}: ${JSON.stringify(bad)}`);
  }
});

nextTick.after(() => database.close());
nextTick.run();
