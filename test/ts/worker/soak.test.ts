// timeout: 400 s
// alone
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { networkFaults, processFaults } from "../../soak/chaos.js";
import { runSoak } from "../../soak/soak.js";

const soak = suite("soak");

soak(
  "two workers and a producer come through every kind of fault: each effect once, nothing lost or stuck",
  async () => {
    const lines: string[] = [];
    const report = await runSoak({
      seed: Number(process.env["HEADRACE_SOAK_SEED"] ?? 20),
      minutes: 0,
      rate: 20,
      drainMs: 240_000,
      log: (line) => lines.push(line),
    });
    assert.equal(report.complaints, [], lines.join("\n"));
    for (const fault of [...Object.keys(processFaults), ...Object.keys(networkFaults)]) {
      assert.ok(report.faults.get(fault), `${fault} did not happen:\n${lines.join("\n")}`);
    }
    assert.ok(Number(report.figures["effects"]) > 0);
    assert.ok(Number(report.figures["samples of the ceilings"]) > 0);
  },
);

soak.run();
