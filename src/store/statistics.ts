import { Caller } from "./caller.js";
import { prometheusText } from "./prometheus.js";
import type { HistoryBucket, IndexHealth, Metric, QueueStats } from "./types.js";

/** Numbers: all bounded, whatever the backlog. */
export abstract class StatisticsRoom extends Caller {
  /** How each queue fares, at most 10,000. */
  async queueStats(): Promise<QueueStats[]> {
    return this.call("queue_stats");
  }

  /**
   * What came and went since an instant, oldest first; of all queues where `queue` is null. At most 10,000 buckets, and
   * what 100,000 minutes of queues have: `nextMs` of the last one says whether there is more.
   */
  async history(queue: string | null, sinceMs: number, bucketMs?: number): Promise<HistoryBucket[]> {
    return this.call("history", { queue, since_ms: sinceMs, bucket_ms: bucketMs });
  }

  /** What an exporter needs, in one call. */
  async metrics(): Promise<Metric[]> {
    return this.call("metrics");
  }

  /** `metrics()` as text for Prometheus; its content type is `prometheusContentType`. */
  async prometheus(): Promise<string> {
    return prometheusText(await this.metrics());
  }

  /** The kinds of jobs that wait or run, by a sample of so many; of these queues, or of all. */
  async distinctKinds(maxRows?: number, queues?: readonly string[]): Promise<string[]> {
    return this.values("distinct_kinds", { max_rows: maxRows, queues });
  }

  /** Measures what jobs take, by up to so many (1..1000) of each queue, and answers how many queues it did. */
  async sampleQueueMemory(maxRows?: number): Promise<number> {
    return Number(await this.value("sample_queue_memory", { max_rows: maxRows }));
  }

  /** The indexes of the install: size, use, and whether each is valid. */
  async indexHealth(): Promise<IndexHealth[]> {
    return this.call("index_health");
  }
}
