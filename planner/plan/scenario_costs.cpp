#include "planner/plan/scenario_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/kernels/forms.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/schedules/staggered.h"
#include "sim/serving/step_parts.h"

namespace kvsim::planner {

models::StepWork average_work(const serving::KvGeometry& geometry, const serving::ServingConfig& config,
                              const serving::GroupConfig& group, const Requests& r, double drafting, double verifying) {
  const double context = static_cast<double>(r.prompt + r.generated);
  const auto x = static_cast<double>(r.x);
  const double drafted = r.x > 0 ? (x - 1) / 2 : 0.0;  // of the round so far, on average
  const double batch = drafting + verifying;
  const std::int64_t longest = r.uneven ? std::llround(r.uneven->longest_of(batch)) : 0;

  models::StepWork work;
  work.decode.query_tokens = drafting;
  work.decode.requests = drafting;
  if (r.compressed) {
    const double factor = serving::attention_time_factor(config, group, config.decode.compressor);
    const double read = geometry.compressed_read(r.prompt, r.generated, factor);
    const double token = geometry.full_read(1);
    work.decode.kv_bytes = drafting * (read + drafted * token);
    work.decode.pairs = drafting * (geometry.compressed().attended(r.prompt, r.generated) + drafted);
    work.decode.quantised = drafting * geometry.compressed().quantised(r.prompt, r.generated);
    if (r.uneven) work.decode.longest_kv = geometry.compressed().attended(longest, r.generated) + drafted;
  } else {
    work.decode.kv_bytes = drafting * geometry.full_read(r.prompt + r.generated);
    work.decode.pairs = drafting * context;
    leave_out(work.decode, geometry.window(), context - 1, 1, drafting);
    if (r.uneven) work.decode.longest_kv = static_cast<double>(longest + r.generated);
  }
  const double queries = x + 1;
  work.verify.query_tokens = verifying * queries;
  work.verify.requests = verifying;
  work.verify.kv_bytes = verifying * geometry.full_read(r.prompt + r.generated + r.x);
  work.verify.pairs = verifying * (queries * context + queries * (queries + 1) / 2);
  leave_out(work.verify, geometry.window(), context, queries, verifying);
  work.logit_tokens = drafting + verifying * queries;
  return work;
}

double peak_s(const serving::ServingConfig& config, const models::StepWork& work, bool compute) {
  const models::LlmSpec& m = config.model;
  const auto gpus = static_cast<double>(config.cluster.uniform().parallel.tensor);
  const models::GpuSpec& gpu = config.cluster.uniform().gpu;
  const double kv = (work.decode.kv_bytes + work.verify.kv_bytes + work.prefill.kv_bytes) * m.reads_of_kv();
  const models::LeftOut outside = models::left_out(m, config.cluster.uniform().parallel.tensor, work);
  const double bytes = static_cast<double>(m.weight_bytes()) +
                       kv * m.as_read().kv_copies(config.cluster.uniform().parallel.tensor) - outside.kv_bytes;
  const double bytes_s = bytes / (gpus * gpu.memory_bytes_per_s.value);
  if (!compute) return bytes_s;
  const double linear = m.linear_flops_per_token() * work.tokens();
  const double attention =
      m.attention_flops_per_pair() * (work.decode.pairs + work.verify.pairs + work.prefill.pairs) - outside.flops;
  const double flops_s =
      (linear / models::Machine::of(gpu).flops_per_s(m.arithmetic_format()) + attention / gpu.bf16_flops_per_s.value) /
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

namespace {

constexpr std::int64_t kLargestTable = 4096;  // requests per replica; larger batches are not considered

models::StepTimer timer_of(const serving::ServingConfig& c) {
  return serving::step_timer(c, c.cluster.uniform(), c.cluster.uniform().parallel.tensor);
}

double positive_difference(std::int64_t a, std::int64_t b) {
  return static_cast<double>(std::max<std::int64_t>(0, a - b));
}

}  // namespace

ScenarioCosts::ScenarioCosts(const scenario::Scenario& scenario, const Refinements& refinements)
    : config_(scenario.serving),
      refinements_(refinements),
      traffic_(traffic_of(scenario)),
      timer_(timer_of(scenario.serving)),
      prompt_(std::llround(refinements.lengths ? traffic_.mean_context : traffic_.named_context)),
      generated_(refinements.outputs ? std::llround(traffic_.mean_generated) : 0),
      gpus_(static_cast<double>(scenario.serving.cluster.uniform().parallel.tensor)) {
  if (!refinements.outputs || config_.prefill == serving::PrefillKind::stored) return;
  const serving::KvGeometry full = serving::kv_at(config_, group(), 1.0);
  const std::int64_t most = std::min({limits().requests, kLargestTable, config_.schedule.max_batched_tokens - 1});
  prefill_s_.push_back(0);
  for (std::int64_t n = 1; n <= most; ++n) {
    prefill_s_.push_back(prefill_s(full, config_, prompt_,
                                   average_work(full, config_, group(), requests(false, 0), static_cast<double>(n), 0),
                                   [this](const models::StepWork& work) { return seconds(work); }));
  }
}

double ScenarioCosts::kv_bytes() const {
  return static_cast<double>(serving::kv_at(config_, group(), 1.0).full_transfer(prompt_ + generated_));
}

double ScenarioCosts::room_bytes() const {
  if (refinements_.reservations)
    return static_cast<double>(kv_capacity_bytes(config_, group(), serving::kv_at(config_, group(), 1.0)));
  // As the closed forms are printed: only the model's own weights take memory beside KV.
  return static_cast<double>(serving::kv_pool_bytes(config_, group()) + serving::replica_weights(config_, group()) -
                             config_.model.weight_bytes());
}

models::AcceptanceModel ScenarioCosts::acceptance(double c, std::int64_t most) const {
  return {config_.decode.acceptance,
          config_.decode.compressor.agreement_at(serving::effective_ratio(config_.decode.compressor, c)), most};
}

BatchLimits ScenarioCosts::limits() const {
  BatchLimits limits;
  limits.requests = config_.schedule.max_requests;
  if (traffic_.concurrency) limits.requests = std::min(limits.requests, *traffic_.concurrency);
  const double host = static_cast<double>(
      serving::kv_at(config_, group(), 1.0)
          .full_transfer(prompt_ + std::llround(refinements_.outputs ? traffic_.mean_output : 0.0)));
  limits.offloaded =
      static_cast<std::int64_t>(std::min(std::floor(static_cast<double>(group().host_memory_bytes) / host), 1e12));
  return limits;
}

Requests ScenarioCosts::requests(bool compressed, std::int64_t x) const {
  return {prompt_, generated_, refinements_.lengths ? &traffic_ : nullptr, compressed, x};
}

double ScenarioCosts::seconds(const models::StepWork& work) const {
  return refinements_.kernels ? timer_.time(work).total_s : peak_s(config_, work, refinements_.compute);
}

std::int64_t ScenarioCosts::most_requests(const Cycle& cycle) const {
  const double least = cycle.x > 0 ? std::min(cycle.compressed_bytes, cycle.average_bytes) : cycle.resident_bytes;
  const double by_memory = std::max(0.0, std::floor(cycle.room_bytes / least)) + 1;
  return std::min({limits().requests, kLargestTable, static_cast<std::int64_t>(std::min(by_memory, 1e12))});
}

void ScenarioCosts::set_memory(Cycle& cycle, const serving::KvGeometry& g) const {
  const std::int64_t context = prompt_ + generated_;
  cycle.room_bytes = room_bytes();
  if (!refinements_.reservations) {
    cycle.resident_bytes = static_cast<double>(g.full_transfer(context));
    cycle.compressed_bytes = static_cast<double>(g.compressed_transfer(prompt_, generated_));
    cycle.streaming_bytes = static_cast<double>(g.reload_transfer(prompt_, generated_));
    cycle.average_bytes =
        cycle.compressed_bytes + (cycle.resident_bytes - cycle.compressed_bytes) / static_cast<double>(cycle.x + 1);
    return;
  }
  serving::DecodeConfig decode = config_.decode;
  decode.draft_lengths.policy = "fixed";
  decode.draft_length = cycle.x;
  const std::int64_t drafts = cycle.x > 0 ? serving::draft_limit(decode) + 1 : 1;
  cycle.resident_bytes = static_cast<double>(g.full_reservation(context + drafts) +
                                             (cycle.x > 0 ? g.redundant_reservation(prompt_, generated_) : 0));
  cycle.compressed_bytes = static_cast<double>(g.compressed_reservation(prompt_, generated_, drafts));
  cycle.streaming_bytes = static_cast<double>(g.reload_reservation(prompt_, generated_));
  const double swelling =
      positive_difference(g.full_reservation(context), g.compressed_reservation(prompt_, generated_, 0));
  cycle.average_bytes = cycle.compressed_bytes + swelling / static_cast<double>(cycle.x + 1);
}

void ScenarioCosts::set_iterations(Cycle& cycle, const serving::KvGeometry& g) const {
  if (!refinements_.iterations) return;
  cycle.whole_iterations = true;
  if (refinements_.lengths && cycle.x > 0) {
    const std::int64_t most = most_requests(cycle);
    for (std::int64_t n = 0; n <= most; ++n) {
      const std::int64_t longest = std::llround(traffic_.longest_of(static_cast<double>(n)));
      cycle.largest_stream_bytes.push_back(static_cast<double>(g.reload_reservation(longest, generated_)));
    }
  }
  cycle.slack = config_.schedule.own.of<serving::StaggeredKeys>().slack(config_.schedule);
}

void ScenarioCosts::set_gpu_time(Cycle& cycle, const serving::KvGeometry& g, bool compressed) const {
  const Requests batch = requests(compressed, cycle.x);
  if (!refinements_.kernels && !refinements_.compute) {
    // (M + B KV_avg) / BW_hbm
    const double bandwidth = gpus_ * group().gpu.memory_bytes_per_s.value;
    const auto full = static_cast<double>(g.full_transfer(prompt_ + generated_));
    const double drafted = compressed ? static_cast<double>(g.compressed_transfer(prompt_, generated_)) : full;
    const auto x = static_cast<double>(cycle.x);
    const double average = cycle.x > 0 ? (x * drafted + full) / (x + 1) : drafted;
    cycle.gpu = GpuTime::linear(static_cast<double>(config_.model.weight_bytes()) / bandwidth, average / bandwidth);
    return;
  }
  std::vector<double> table{0.0};
  const std::int64_t most = most_requests(cycle);
  for (std::int64_t n = 1; n <= most; ++n) {
    const auto requests_n = static_cast<double>(n);
    if (cycle.x == 0) {
      table.push_back(seconds(average_work(g, config_, group(), batch, requests_n, 0)));
      continue;
    }
    // B / (x + 1) verify in an iteration: this whole number or the next one, as verifications are spread evenly.
    const double verifying = requests_n / static_cast<double>(cycle.x + 1);
    const double fewer = std::floor(verifying), share = verifying - fewer;
    double time = (1 - share) * seconds(average_work(g, config_, group(), batch, requests_n - fewer, fewer));
    if (share > 0) time += share * seconds(average_work(g, config_, group(), batch, requests_n - fewer - 1, fewer + 1));
    table.push_back(time);
  }
  cycle.gpu = GpuTime::table(std::move(table));
}

void ScenarioCosts::add_turnover(Cycle& cycle, const serving::KvGeometry& g, bool compressed) const {
  const double in = gpus_ * group().host_link.read_bytes_per_s.value;
  const double out = gpus_ * group().host_link.write_bytes_per_s.value;
  const double starts = cycle.tokens / traffic_.mean_output;  // per request and iteration
  const auto full = static_cast<double>(g.full_transfer(prompt_));
  const auto small = static_cast<double>(g.compressed_transfer(prompt_, 0));
  if (config_.prefill == serving::PrefillKind::stored) {
    cycle.other_per_resident_s = starts * (cycle.x == 0 && compressed ? small : full) / in;
    cycle.other_per_offloaded_s = starts * small / in;
  } else {
    cycle.back_per_offloaded_s = starts * full / out;
    std::vector<double> table{0.0};
    const std::int64_t most = std::min(cycle.gpu.most(), static_cast<std::int64_t>(prefill_s_.size()) - 1);
    for (std::int64_t n = 1; n <= most; ++n) {
      table.push_back(cycle.gpu.at(n) + static_cast<double>(n) * starts * prefill_s_[static_cast<std::size_t>(n)]);
    }
    cycle.gpu = GpuTime::table(std::move(table));
  }
  if (cycle.x > 0) cycle.back_per_offloaded_s += cycle.tokens * static_cast<double>(g.full_transfer(1)) / out;
}

Cycle ScenarioCosts::plain(double c, bool compressed) const {
  const serving::KvGeometry g = serving::kv_at(config_, group(), c);
  Cycle cycle;
  cycle.c = c;
  set_memory(cycle, g);
  if (compressed) cycle.resident_bytes = cycle.compressed_bytes;
  set_gpu_time(cycle, g, compressed);
  if (refinements_.outputs) add_turnover(cycle, g, compressed);
  return cycle;
}

std::vector<Cycle> ScenarioCosts::drafting(double c, std::int64_t least, std::int64_t most) const {
  const serving::KvGeometry g = serving::kv_at(config_, group(), c);
  const models::AcceptanceModel law = acceptance(c, most);
  std::vector<Cycle> cycles;
  for (std::int64_t x = least; x <= most; ++x) {
    Cycle cycle;
    cycle.x = x;
    cycle.c = c;
    cycle.tokens = refinements_.outputs ? traffic_.mean_output / iterations_per_request(law, x, traffic_.mean_output)
                                        : (law.expected_accepted(x) + 1) / static_cast<double>(x + 1);
    cycle.reload_s = static_cast<double>(g.reload_transfer(prompt_, generated_)) /
                     (gpus_ * group().host_link.read_bytes_per_s.value);
    set_memory(cycle, g);
    set_iterations(cycle, g);
    set_gpu_time(cycle, g, true);
    if (refinements_.outputs) add_turnover(cycle, g, true);
    cycles.push_back(std::move(cycle));
  }
  return cycles;
}

}  // namespace kvsim::planner
