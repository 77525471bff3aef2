// Who takes part. A variant is a contestant with a few words of its SQL exchanged for others.
function contestant(name, { lanes = true, ...extra } = {}) {
  const files = [
    "common/clock.sql",
    lanes && "common/lanes.sql",
    `${name}/schema.sql`,
    `${name}/functions.sql`,
  ];
  return { ...extra, statements: (read) => files.filter(Boolean).map(read) };
}

function variant(base, ...exchanges) {
  const statements = (read) => {
    const unused = new Set(exchanges);
    const texts = base.statements(read).map((text) => {
      for (const exchange of exchanges) {
        if (text.includes(exchange[0])) unused.delete(exchange);
        text = text.replaceAll(...exchange);
      }
      return text;
    });
    if (unused.size > 0)
      throw new Error(`nothing to exchange: ${[...unused].map(([from]) => from).join("; ")}`);
    return texts;
  };
  return { ...base, statements };
}

const inPlace = contestant("in-place");
const hotClaim = contestant("hot-claim");

export const contestants = {
  "in-place": inPlace,
  "where-it-stands": contestant("where-it-stands"),
  "hot-claim": hotClaim,
  "lease-only": contestant("lease-only"),
  rotation: contestant("rotation", { lanes: false, duty: "select rotate()" }),
};

const rowOptions = "periodic_schedule_id text\n) with (fillfactor = 50)";
const laneOf = (queue, partitionKey, priority) =>
  `select l.lane_no from lane l where l.queue = ${queue} and l.partition_key = ${partitionKey} and l.priority = ${priority}`;

/** One choice changed at a time, mostly in hot-claim. */
export const variants = {
  "hot-claim fillfactor 70": variant(hotClaim, [rowOptions, rowOptions.replace("50", "70")]),
  "hot-claim fillfactor 85": variant(hotClaim, [rowOptions, rowOptions.replace("50", "85")]),
  "hot-claim fillfactor 45": variant(hotClaim, [rowOptions, rowOptions.replace("50", "45")]),
  "hot-claim with fingerprint": variant(
    hotClaim,
    ["kind, payload)\n", "kind, payload, fingerprint)\n"],
    ["a.payload\n  from", "a.payload, decode(md5(a.payload) || '01', 'hex')\n  from"],
  ),
  "hot-claim with text id": variant(
    hotClaim,
    ["kind, payload)\n", "kind, payload, id)\n"],
    [
      "a.payload\n  from",
      "a.payload, to_char(v_now_ms, 'FM0000000000000') || to_char(nextval('id_seq'), 'FM0000000000000')\n  from",
    ],
    ["create sequence lease_seq", "create sequence id_seq cache 100;\ncreate sequence lease_seq"],
  ),
  "hot-claim updating by key": variant(hotClaim, ["j.ctid = any (v_tids)", "j.key = any (v_keys)"]),
  "hot-claim under a lock per lane": variant(
    hotClaim,
    ["\n      for update skip locked) j", ") j"],
    [
      "begin\n  -- Every level",
      "begin\n  perform pg_advisory_xact_lock(hashtext(k)) from unnest(p_partition_keys) k;\n  -- Every level",
    ],
  ),
  "hot-claim with a lease per job": variant(
    hotClaim,
    [
      "lease_no      bigint primary key",
      "key           bigint primary key,\n  lease_no      bigint not null",
    ],
    ["worker        text   not null,\n  keys          bigint[] not null", "worker        text   not null"],
    [
      "insert into lease (lease_no, expires_at_ms, worker, keys)",
      "insert into lease (key, lease_no, expires_at_ms, worker)",
    ],
    [
      "values (v_lease_no, v_now_ms + p_lease_ms, p_worker, v_keys)",
      "select k, v_lease_no, v_now_ms + p_lease_ms, p_worker from unnest(v_keys) k",
    ],
    [
      "where l.lease_no = p_lease_no and cardinality(l.keys) = v_done",
      "where l.key = any (p_keys) and l.lease_no = p_lease_no",
    ],
  ),
  "hot-claim with lane numbers": variant(
    hotClaim,
    ["create table lane (", "create table lane (\n  lane_no integer generated always as identity,"],
    [
      "  queue               text      not null,\n  partition_key       text      not null,\n",
      "  lane_no integer not null,\n",
    ],
    [
      "job (queue, partition_key, priority desc, scheduled_at_ms, key)",
      "job (lane_no, scheduled_at_ms, key)",
    ],
    ["priority, queue, partition_key, kind, payload", "priority, lane_no, kind, payload"],
    ["p_queue, a.partition_key, 'mail.send'", "l.lane_no, 'mail.send'"],
    [
      "as a (partition_key, priority, payload);",
      "as a (partition_key, priority, payload)\n  join lane l on l.queue = p_queue and l.partition_key = a.partition_key and l.priority = a.priority;",
    ],
    [
      "r.queue = p_queue and r.partition_key = l.partition_key and r.priority = l.priority",
      "r.lane_no = l.lane_no",
    ],
    [
      "r.queue = p_queue and r.partition_key = p_partition_key and r.priority = p_priority",
      `r.lane_no = (${laneOf("p_queue", "p_partition_key", "p_priority")})`,
    ],
  ),
};
