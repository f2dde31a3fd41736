// Parameters of kvsim-calibrate's replay (replay.yaml) and times of its iterations (replay.csv). A machine of its own
// for draft and verify: see docs/calibrator.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/schema/error.h"

namespace kvsim::models {

/// Lengths stay as they are: every drafted token is one decode against the compressed KV, a verification is
/// draft_length + 1 query tokens against a full KV that was reloaded.
struct ReplayRun {
  std::string model;
  std::int64_t model_layers = 0;
  std::int64_t layers = 0;  ///< that were run
  std::int64_t requests = 0;
  std::int64_t draft_length = 0;
  std::int64_t reload_iterations = 0;  ///< a reload starts so many before the verification that waits for it
  std::int64_t rounds = 0;
  std::int64_t context_tokens = 0;
  std::int64_t kv_bits = 0;
  std::int64_t kv_group = 0;
  std::string arrival;
  std::int64_t layer_weight_bytes = 0;
  std::int64_t lm_head_bytes = 0;
  std::int64_t full_kv_bytes = 0;        ///< of a request, all layers
  std::int64_t compressed_kv_bytes = 0;  ///< of a request, all layers
  std::int64_t tensor_parallel = 1;
  std::int64_t lock_step_slots = 0, staggered_slots = 0;
};

/// One iteration of one run of a schedule.
struct ReplayRow {
  std::string gpu;
  std::string schedule;  ///< lock_step or staggered
  std::int64_t run = 0;
  std::int64_t iteration = 0;
  double begin_s = 0, end_s = 0;  ///< since the start of the run
  std::int64_t drafting = 0, verifying = 0;
  std::int64_t reloads = 0;  ///< that start with it
  schema::Origin origin;
};

/// Throws schema::InputError (file:line:column) for what is no such file, and for what contradicts itself.
[[nodiscard]] ReplayRun read_replay_run(const std::string& path);
/// By schedule and run, every iteration from 0 on. Throws schema::InputError where a row is none, contradicts `run`, or
/// does not follow the one before it.
[[nodiscard]] std::vector<ReplayRow> read_replay_rows(const std::string& path, const ReplayRun& run);

}  // namespace kvsim::models
