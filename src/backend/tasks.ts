import { BackendReads } from "./reads.js";
import { policyJson, toConfig, type ConfigRow } from "./records.js";
import type { TaskConfig, TaskPolicy } from "./types.js";

/** The policies of tasks. */
export abstract class BackendTasks extends BackendReads {
  async getTaskConfig(taskName: string): Promise<TaskConfig | null> {
    const [row] = await this.call<ConfigRow>("backend_get_task_config", { task_name: taskName });
    return row ? toConfig(row) : null;
  }

  /** Replaces the policies of a task; what they were stays as a revision. */
  async upsertTaskConfig(config: TaskPolicy & { readonly taskName: string }): Promise<void> {
    await this.call("backend_upsert_task_config", { config: policyJson(config, config.taskName) });
  }

  /** Stores policies for a task that has none, and never over what an operator set. True where it did. */
  async registerTask(taskName: string, defaults: TaskPolicy = {}): Promise<boolean> {
    const [stored] = await this.values<boolean>("backend_register_task", {
      config: policyJson(defaults, taskName),
    });
    return stored ?? false;
  }

  /** The policies that a task has had, newest first; the last 100 are kept. */
  async listTaskConfigRevisions(taskName: string, limit = 100): Promise<TaskConfig[]> {
    const rows = await this.call<ConfigRow>("backend_list_task_config_revisions", {
      task_name: taskName,
      max_rows: limit,
    });
    return rows.map(toConfig);
  }
}
