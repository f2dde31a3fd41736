#include "planner/replay/replay.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "models/calibration/device_fits.h"
#include "models/kernels/step_time.h"
#include "models/schema/error.h"
#include "sim/instance/interference.h"
#include "sim/machine/gpu_group.h"
#include "sim/transport/fabric.h"

namespace kvsim::planner {
namespace {

using engine::Callback;
using engine::Duration;
using engine::SimTime;
using models::ReplayRow;
using models::ReplayRun;

/// Products and attention are all that a replay launches: no norms, no sampling, no engine around them, and all of it
/// is queued before it begins.
models::KernelProfile kernels_of(models::KernelProfile profile) {
  profile.fitted.elementwise.reset();
  profile.tables.sampler.clear();
  profile.iteration_overhead_s.value = 0;
  profile.launch = {};
  profile.drafts.reset();
  profile.quantised.reset();
  return profile;
}

models::LlmSpec layers_of(models::LlmSpec model, std::int64_t layers) {
  model.layers = layers;
  return model;
}

models::StepWork work_of(const ReplayRow& row, const ReplayRun& run, double low_bit_factor) {
  const auto context = static_cast<double>(run.context_tokens);
  const auto drafting = static_cast<double>(row.drafting);
  const auto verifying = static_cast<double>(row.verifying);
  const auto queries = static_cast<double>(run.draft_length + 1);
  models::StepWork work;
  work.decode.requests = work.decode.query_tokens = drafting;
  work.decode.kv_bytes = drafting * static_cast<double>(run.compressed_kv_bytes) * low_bit_factor;
  work.decode.pairs = drafting * context;
  work.verify.requests = verifying;
  work.verify.query_tokens = verifying * queries;
  work.verify.kv_bytes = verifying * static_cast<double>(run.full_kv_bytes);
  work.verify.pairs = verifying * queries * (context - (queries - 1) / 2);
  work.logit_tokens = work.tokens();
  return work;
}

/// How many times its bytes the compressed KV takes as long as.
double low_bit_factor(const ReplayMachine& machine, const ReplayRun& run) {
  const models::KernelProfile& p = machine.profile;
  if (p.low_bit.elements_per_s.value <= 0) return 1;
  const double share = static_cast<double>(run.compressed_kv_bytes) / static_cast<double>(run.full_kv_bytes);
  return p.low_bit.time_factor(share * machine.model.kv_bytes_per_element,
                               p.attention_bandwidth_efficiency.value * machine.gpu.memory_bytes_per_s.value,
                               machine.gpu.multiprocessors.value);
}

/// One run of one schedule.
class Replay final : private machine::StepListener {
 public:
  Replay(const ReplayMachine& machine, const ReplayRun& run, const models::StepTimer& timer,
         const std::vector<ReplayRow>& rows)
      : run_(run),
        timer_(timer),
        rows_(rows),
        low_bit_factor_(low_bit_factor(machine, run)),
        fabric_(simulator_, nullptr),
        gpus_({simulator_, timer.one_token_s(), nullptr, iteration_s_, extrapolated_, launched_}, *this, "replay"),
        lanes_(fabric_.add_host_lanes(
            "replay", {machine.host_link.read_bytes_per_s.value, machine.host_link.write_bytes_per_s.value,
                       engine::from_seconds(machine.host_link.latency_s.value),
                       engine::from_seconds(machine.host_link.setup_s.value), transport::Queueing::serialised,
                       machine.host_link.both_ways_bytes_per_s.value})),
        interference_(machine.profile.interference, fabric_, gpus_.work(), lanes_),
        reloading_(rows.size(), -1) {}

  struct Times {
    double begin_s = 0, end_s = 0;
  };
  std::vector<Times> run() {
    gpus_.wake();
    simulator_.run();
    return std::move(times_);
  }

 private:
  /// Reloads start when the iteration before has ended: their slots may have been read until then.
  void begin_step() override {
    const std::size_t t = times_.size();
    if (t == rows_.size()) return interference_.steps_run(false);
    if (reloading_[t] < 0) start_reloads(t);
    const auto lead = static_cast<std::size_t>(run_.reload_iterations);
    if (rows_[t].verifying > 0 && t >= lead && reloading_[t - lead] > 0) return interference_.steps_run(false);
    interference_.steps_run(true);
    const models::StepTime time = timer_.time(work_of(rows_[t], run_, low_bit_factor_));
    gpus_.start({.computing = std::max(engine::from_seconds(time.total_s), Duration{1}),
                 .memory_share = time.total_s > 0 ? time.hbm_bound_s / time.total_s : 0},
                {});
  }

  void end_step() override { times_.push_back({gpus_.step_begin().seconds(), simulator_.now().seconds()}); }

  void start_reloads(std::size_t t) {
    constexpr int kCopies = 2;  // keys, then values
    reloading_[t] = kCopies * rows_[t].reloads;
    for (std::int64_t i = 0; i < reloading_[t]; ++i) {
      lanes_.to_gpu->submit(
          {.bytes = run_.full_kv_bytes / kCopies, .on_complete = Callback::to<&Replay::on_reloaded>(this, t)});
    }
  }

  void on_reloaded(std::uint64_t t) {
    reloading_[t] -= 1;
    if (reloading_[t] == 0 && !gpus_.spent().computing()) gpus_.wake();
  }

  const ReplayRun& run_;
  const models::StepTimer& timer_;
  const std::vector<ReplayRow>& rows_;
  double low_bit_factor_;
  engine::Simulator simulator_;
  transport::Fabric fabric_;
  engine::Sample iteration_s_;
  std::int64_t extrapolated_ = 0, launched_ = 0;
  machine::GpuGroup gpus_;
  transport::GroupLanes lanes_;
  serving::Interference interference_;
  std::vector<std::int64_t> reloading_;  // copies under way of those that started with each; -1: not yet
  std::vector<Times> times_;
};

/// The rows of a schedule, run by run.
using Runs = std::vector<std::vector<ReplayRow>>;

std::vector<std::pair<std::string, Runs>> by_schedule(const std::vector<ReplayRow>& rows) {
  std::vector<std::pair<std::string, Runs>> schedules;
  for (const ReplayRow& row : rows) {
    auto at = std::find_if(schedules.begin(), schedules.end(), [&](const auto& s) { return s.first == row.schedule; });
    if (at == schedules.end()) at = schedules.insert(schedules.end(), {row.schedule, {}});
    if (row.iteration == 0) at->second.emplace_back();
    at->second.back().push_back(row);
  }
  return schedules;
}

void refuse_differing(const Runs& runs) {
  for (const std::vector<ReplayRow>& run : runs) {
    for (std::size_t t = 0; t < run.size(); ++t) {
      const ReplayRow& first = runs.front()[t];
      if (run[t].drafting == first.drafting && run[t].verifying == first.verifying && run[t].reloads == first.reloads) {
        continue;
      }
      throw schema::InputError(run[t].origin, fmt::format("not what iteration {} did in run {} ({})", run[t].iteration,
                                                          first.run, first.origin.str()));
    }
  }
}

/// Median over all runs of one iteration.
template <class Get>
double median_of(const Runs& runs, const Get& get) {
  std::vector<double> values;
  for (const std::vector<ReplayRow>& run : runs) values.push_back(get(run));
  return models::median_of(std::move(values)).value_or(0);
}

}  // namespace

std::string ReplayIteration::kind() const {
  const char* what = verifying == 0 ? "draft" : drafting == 0 ? "verify" : "draft and verify";
  return fmt::format("{} {}", schedule, what);
}

ReplayComparison compare_replay(const ReplayMachine& machine, const ReplayRun& run,
                                const std::vector<ReplayRow>& rows) {
  ReplayComparison result;
  result.gpu = machine.gpu.name;
  result.profile = machine.profile.name;
  result.host_link = machine.host_link.name;
  result.model = machine.model.name;
  result.run = run;
  const models::StepTimer timer(machine.gpu, {}, kernels_of(machine.profile), layers_of(machine.model, run.layers), 1);
  result.fallbacks = timer.fallbacks();
  if (machine.profile.low_bit.elements_per_s.value <= 0) {
    result.fallbacks.push_back(
        fmt::format("profile {} has no attention.low_bit: KV of {} bits takes as long as its bytes of whole KV",
                    machine.profile.name, run.kv_bits));
  }
  std::vector<double> errors;
  std::map<std::string, std::vector<double>> by_kind;
  for (const auto& [schedule, runs] : by_schedule(rows)) {
    refuse_differing(runs);
    const auto simulated = Replay(machine, run, timer, runs.front()).run();
    for (std::size_t t = 0; t < simulated.size(); ++t) {
      const ReplayRow& row = runs.front()[t];
      const auto before = [t](const std::vector<ReplayRow>& r) { return t == 0 ? 0 : r[t - 1].end_s; };
      const double simulated_before = t == 0 ? 0 : simulated[t - 1].end_s;
      const ReplayIteration& i = result.iterations.emplace_back(
          ReplayIteration{schedule, row.iteration, row.drafting, row.verifying, row.reloads,
                          median_of(runs, [&](const auto& r) { return r[t].end_s - before(r); }),
                          median_of(runs, [&](const auto& r) { return r[t].begin_s - before(r); }),
                          simulated[t].end_s - simulated_before, simulated[t].begin_s - simulated_before});
      errors.push_back(i.error());
      by_kind[i.kind()].push_back(i.error());
    }
    result.totals.push_back(
        {schedule, median_of(runs, [](const auto& r) { return r.back().end_s; }), simulated.back().end_s});
  }
  result.errors = models::summarise(errors);
  for (const auto& [kind, e] : by_kind) result.kinds.push_back({kind, models::summarise(e)});
  return result;
}

}  // namespace kvsim::planner
