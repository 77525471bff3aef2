create or replace function :SCHEMA.doors()
returns table (duty text, door text)
language sql
immutable
security definer
set search_path = pg_catalog, pg_temp
as $$
  with duties(duty, doors) as (
    values
      ('everybody', 'schema_version fingerprint'),
      ('producer', 'enqueue enqueue_many'),
      ('worker', 'admit admit_hinted ack ack_many ack_batch ack_success_with_result renew release'),
      ('worker', 'checkpoint'),
      ('worker', 'complete claim_effect write_job_output write_job_progress defer_rate_class'),
      ('worker', 'heartbeat_worker declare_sleep channel claim_duty release_duty duty_names run_duties'),
      ('worker', 'distinct_kinds'),
      ('scheduler', 'claim_duty release_duty duty_names run_duties reclaim_expired promote_due'),
      ('scheduler', 'quarantine_sweep expire_deadlines evict_retained janitor roll_up_tallies'),
      ('scheduler', 'run_pending_operations make_archive_months tick_schedules due_schedules'),
      ('scheduler', 'advance_schedule record_schedule_event list_schedules list_schedule_events'),
      ('scheduler', 'next_tick sample_queue_memory'),
      ('operator', 'operator_retry operator_cancel promote_job delete_job reschedule_job edit_payload'),
      ('operator', 'delete_queue create_operation signal_worker set_queue_paused set_queue_weight'),
      ('operator', 'set_enqueue_limit set_history_policy set_failed_retention upsert_rate_class'),
      ('operator', 'delete_rate_class defer_rate_class upsert_concurrency_limit'),
      ('operator', 'delete_concurrency_limit quarantine_release set_archive_policy'),
      ('operator', 'clear_archive_policy prune_archive_month upsert_schedule delete_schedule'),
      ('operator', 'set_schedule_paused'),
      ('operator', 'run_schedule_now sample_queue_memory run_pending_operations'),
      ('reader', 'get_job get_job_bare get_job_progress list_jobs counts queue_stats history'),
      ('reader', 'explain_admission list_attempts list_archive distinct_kinds index_health reindexable'),
      ('reader', 'metrics verify_invariants list_workers list_operations get_operation rate_classes'),
      ('reader', 'concurrency_limits partitions quarantine_list quarantine_bare list_schedules'),
      ('reader', 'list_schedule_events next_tick duty_names jobs queues workers schedules'),
      ('reader_payload', 'quarantine_sample'),
      ('reader_payload', 'get_job_with_payload get_job_checkpoint get_job_result get_job_output'),
      ('reader_payload', 'get_archived_job list_schedules_with_payload'),
      ('producer', 'backend_enqueue_with_policies backend_find_nonterminal_by_idempotency_key'),
      ('worker', 'backend_admit backend_try_claim_job backend_pop_claim_from_pool backend_finish_run'),
      ('worker', 'backend_upsert_run'),
      ('worker', 'backend_revert_job_to_queued backend_upsert_job backend_get_job'),
      ('worker', 'backend_distinct_pools_queued'),
      ('worker', 'backend_list_queued_for_pool_sorted backend_try_claim_run_lease backend_extend_lease'),
      ('worker', 'backend_release_lease backend_expired_lease_job_pairs backend_get_task_config'),
      ('worker', 'backend_register_task'),
      ('operator', 'backend_cancel_job_if_active backend_upsert_task_config'),
      ('reader', 'backend_count_jobs backend_count_jobs_for_task backend_count_active_jobs_for_task'),
      ('reader', 'backend_get_run backend_list_runs backend_count_runs backend_count_runs_since'),
      ('reader', 'backend_task_run_stats'),
      ('reader', 'backend_get_task_config backend_list_task_config_revisions backend_distinct_pools_queued'),
      ('reader', 'backend_expired_lease_job_pairs backend_find_nonterminal_by_idempotency_key'),
      ('reader_payload', 'backend_get_job backend_list_jobs backend_list_queued_for_pool_sorted')
  ), includes(duty, part) as (
    select d.duty, d.duty from duties d where d.duty <> 'everybody'
    union all
    select d.duty, 'everybody' from duties d where d.duty <> 'everybody'
    union all
    values ('operator', 'reader'), ('reader_payload', 'reader')
  )
  select distinct i.duty, d.door
  from includes i
  join duties p on p.duty = i.part
  cross join lateral unnest(string_to_array(p.doors, ' ')) d(door);
$$;
comment on function :SCHEMA.doors is
  'Which functions and views each duty opens. A migration that adds a door adds it here and ends with '
  'apply_grants().';
revoke all on function :SCHEMA.doors from public;
