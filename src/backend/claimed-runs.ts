/** Claims whose run is remembered. */
const most = 10_000;

/** The runs of the claims that were made through an object, for callers that only name the job. */
export class ClaimedRuns {
  readonly #runs = new Map<string, string>();

  of(jobId: string): string | undefined {
    return this.#runs.get(jobId);
  }

  remember(jobId: string, runId: string): void {
    this.#runs.delete(jobId);
    this.#runs.set(jobId, runId);
    if (this.#runs.size <= most) return;
    for (const oldest of this.#runs.keys()) {
      this.#runs.delete(oldest);
      return;
    }
  }

  forgetJob(jobId: string): void {
    this.#runs.delete(jobId);
  }

  forgetRun(runId: string): void {
    for (const [jobId, known] of this.#runs) {
      if (known === runId) {
        this.#runs.delete(jobId);
        return;
      }
    }
  }
}
