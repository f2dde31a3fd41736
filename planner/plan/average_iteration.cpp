#include "planner/plan/average_iteration.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/serving/step_parts.h"

namespace kvsim::planner {

models::StepWork average_work(const serving::KvGeometry& geometry, const serving::ServingConfig& config,
                              const Requests& r, double drafting, double verifying) {
  const double context = static_cast<double>(r.prompt + r.generated);
  const auto x = static_cast<double>(r.x);
  const double drafted = r.x > 0 ? (x - 1) / 2 : 0.0;  // of the round so far, on average
  const double batch = drafting + verifying;
  const std::int64_t longest = r.uneven ? std::llround(r.uneven->longest_of(batch)) : 0;

  models::StepWork work;
  work.decode.query_tokens = drafting;
  work.decode.requests = drafting;
  if (r.compressed) {
    const double factor = serving::attention_time_factor(config.cluster.profile, config.decode.compressor);
    const double read = geometry.compressed_read(r.prompt, r.generated) * factor;
    const double token = geometry.full_read(1);
    work.decode.kv_bytes = drafting * (read + drafted * token);
    work.decode.pairs = drafting * (geometry.attended_compressed(r.prompt, r.generated) + drafted);
    if (r.uneven) work.decode.longest_kv = geometry.attended_compressed(longest, r.generated) + drafted;
  } else {
    work.decode.kv_bytes = drafting * geometry.full_read(r.prompt + r.generated);
    work.decode.pairs = drafting * context;
    if (r.uneven) work.decode.longest_kv = static_cast<double>(longest + r.generated);
  }
  const double queries = x + 1;
  work.verify.query_tokens = verifying * queries;
  work.verify.requests = verifying;
  work.verify.kv_bytes = verifying * geometry.full_read(r.prompt + r.generated + r.x);
  work.verify.pairs = verifying * (queries * context + queries * (queries + 1) / 2);
  work.logit_tokens = drafting + verifying * queries;
  return work;
}

double peak_s(const serving::ServingConfig& config, const models::StepWork& work, bool compute) {
  const models::LlmSpec& m = config.model;
  const auto gpus = static_cast<double>(config.cluster.tensor_parallel);
  const models::GpuSpec& gpu = config.cluster.gpu;
  const double kv = work.decode.kv_bytes + work.verify.kv_bytes + work.prefill.kv_bytes;
  const double bytes = static_cast<double>(m.weight_bytes()) + kv * m.kv_copies(config.cluster.tensor_parallel);
  const double bytes_s = bytes / (gpus * gpu.memory_bytes_per_s.value);
  if (!compute) return bytes_s;
  const bool fp8 = m.weight_bytes_per_parameter <= 1.0 && gpu.fp8_flops_per_s.value > 0;
  const double linear = m.linear_flops_per_token() * work.tokens();
  const double attention = m.attention_flops_per_pair() * (work.decode.pairs + work.verify.pairs + work.prefill.pairs);
  const double flops_s = (linear / (fp8 ? gpu.fp8_flops_per_s.value : gpu.bf16_flops_per_s.value) +
                          attention / gpu.bf16_flops_per_s.value) /
                         gpus;
  return std::max(bytes_s, flops_s);
}

double iterations_per_request(const models::AcceptanceModel& acceptance, std::int64_t x, double output) {
  constexpr std::int64_t kExact = 1024;
  const double steady = static_cast<double>(x + 1) / (acceptance.expected_accepted(x) + 1);
  const auto last = static_cast<std::int64_t>(std::min(std::ceil(output), static_cast<double>(kExact)));
  std::vector<double> iterations(static_cast<std::size_t>(last) + 1, 0.0);  // by tokens left
  std::vector<double> survival, exactly;  // k accepted: at least, and no more of a draft that is longer than k
  for (std::int64_t k = 0; k <= std::min(x, last); ++k) survival.push_back(acceptance.survival(k));
  for (std::size_t k = 0; k + 1 < survival.size(); ++k) exactly.push_back(survival[k] - survival[k + 1]);
  for (std::size_t left = 1; left < iterations.size(); ++left) {
    const std::size_t drafts = std::min(survival.size() - 1, left);
    double sum = static_cast<double>(drafts + 1);
    for (std::size_t k = 0; k < drafts; ++k) sum += exactly[k] * iterations[left - k - 1];
    iterations[left] = sum + survival[drafts] * iterations[left > drafts ? left - drafts - 1 : 0];
  }
  return iterations.back() + std::max(0.0, output - static_cast<double>(last)) * steady;
}

}  // namespace kvsim::planner
