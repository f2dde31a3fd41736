#include "tools/cli/experiments.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "tools/cli/console.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"

namespace kvsim::cli {
namespace {

Progress progress_of(const std::vector<Planned>& planned) {
  std::vector<Progress::Run> runs;
  runs.reserve(planned.size());
  for (const Planned& p : planned) {
    runs.push_back({p.scenario.serving.run.duration_s, static_cast<std::size_t>(p.scenario.replications)});
  }
  return Progress(runs);
}

class Experiments {
 public:
  explicit Experiments(const std::vector<Planned>& planned)
      : planned_(planned), progress_(progress_of(planned)), results_(planned.size()), errors_(planned.size()) {}

  std::vector<planner::ExperimentResult> run(int jobs) {
    const auto wanted = static_cast<std::size_t>(jobs);
    const std::size_t workers = std::min(wanted, planned_.size());
    const int jobs_each = static_cast<int>(std::max<std::size_t>(1, wanted / workers));
    if (workers == 1) {
      work(jobs_each);
    } else {
      std::vector<std::thread> threads;
      for (std::size_t i = 0; i < workers; ++i) threads.emplace_back([this, jobs_each] { work(jobs_each); });
      for (std::thread& thread : threads) thread.join();
    }
    if (interrupted()) throw Interrupted();
    for (const std::exception_ptr& error : errors_) {
      if (error) std::rethrow_exception(error);
    }
    return std::move(results_);
  }

 private:
  void work(int jobs) {
    for (std::size_t i = next_++; i < planned_.size() && !stop_ && !interrupted(); i = next_++) {
      try {
        run_one(i, jobs);
      } catch (...) {
        errors_[i] = std::current_exception();
        stop_ = true;  // the others would run for nothing
      }
      progress_.finished(i);
    }
  }

  void run_one(std::size_t i, int jobs) {
    const Planned& planned = planned_[i];
    planner::ExperimentOptions options;
    options.jobs = jobs;
    options.trace = planned.trace;
    options.timeline = planned.timeline;
    options.progress = [this, i](std::size_t replication, double simulated_s) {
      progress_.report(i, replication, simulated_s);
      return !stop_ && !interrupted();
    };
    try {
      results_[i] = planner::run_experiment(planned.scenario, options);
    } catch (const serving::ConfigurationError& e) {
      const std::string policy = planned.policy.empty() ? "" : fmt::format(" (policy {})", planned.policy);
      throw schema::InputError(fmt::format("{}: {}: {}{}", planned.scenario.file, e.key(), e.what(), policy));
    }
  }

  const std::vector<Planned>& planned_;
  Progress progress_;
  std::vector<planner::ExperimentResult> results_;
  std::vector<std::exception_ptr> errors_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace

std::vector<results::Outcome> run_experiments(std::vector<Planned> planned, int jobs) {
  std::vector<planner::ExperimentResult> all = Experiments(planned).run(jobs);
  std::vector<results::Outcome> outcomes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const serving::Measurements& m = all[i].measured;
    if (m.arrived > 0 && m.refused == m.arrived) {
      Console::complain(fmt::format("warning: {}: every request was refused, so every figure is empty{}{}",
                                    planned[i].scenario.file, all[i].refusals.empty() ? "" : "; ",
                                    all[i].refusals.empty() ? "" : all[i].refusals.front()));
    }
    outcomes.push_back({std::move(planned[i].scenario), std::move(all[i]), std::move(planned[i].policy)});
  }
  return outcomes;
}

}  // namespace kvsim::cli
