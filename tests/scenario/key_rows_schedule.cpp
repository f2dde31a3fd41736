#include "tests/scenario/key_rows.h"

namespace kvsim::testing {

std::vector<KeyRow> schedule_rows() {
  return {
      {"schedule.policy", {}, "staggered", "lock_step"},
      {"schedule.window", {}, "128", "4"},
      {"schedule.arrival", {}, "layerwise", "whole"},
      {"schedule.arrival_slack", {}, "0", "2"},
      {"schedule.max_requests", {}, "256", "3"},
      {"schedule.max_batched_tokens", recomputed(), "2048", "4096"},
      {"schedule.block_size", {}, "16 tokens", "256 tokens"},
      {"schedule.asynchronous", recomputed(), "false", "true"},
      {"slo.ttft_p99", {}, "1 ms", "1000 s"},
      {"slo.tpot_p99", {}, "1 ms", "1000 s"},
      {"slo.itl_p99", {}, "1 ms", "1000 s"},
      {"slo.e2e_p99", {}, "1 ms", "1000 s"},
      {"run.duration", {}, "2 s", "3 s"},
      {"run.warmup", {"run.duration=3 s"}, "0 s", "1 s"},
      {"run.seed", {}, "1", "2"},
      {"run.replications", {}, "1", "2"},
      {"run.stretches", {}, "true", "false", Effect::none_yet},
      {"run.sample_every", {}, "1 s", "2 s", Effect::listed},
  };
}

std::ostream& operator<<(std::ostream& out, const KeyRow& row) {
  for (const char c : row.key) {
    if (c != '[' && c != ']') out << c;
  }
  return out;
}

std::vector<KeyRow> key_rows() {
  std::vector<KeyRow> all;
  for (auto& rows : {model_rows(), cluster_rows(), profile_rows(), kernel_rows(), workload_rows(), decode_rows(),
                     pools_rows(), placement_rows(), reuse_rows(), schedule_rows(), drafting_rows()}) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

}  // namespace kvsim::testing
