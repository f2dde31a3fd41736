// Simulations that several files of figures share: each once, side by side.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "sim/scenario/scenario.h"
#include "tools/results/section.h"
#include "tools/validation/probes.h"

namespace kvsim::validation {

/// Simulates `run.scenario`, with its timeline where `trace`. Throws what planner::run_experiment throws.
void simulate(SimulatedRun& run, bool trace);

/// Results by what decides them (planner::sweep::fingerprint). First every figure is asked for, which tells what is to
/// be simulated; then that is done; figures that only now can say what else they need are asked for again.
class Runs {
 public:
  struct Options {
    int jobs = 1;
    /// The result of an earlier sitting, as `keep` was given it (JSON with a checksum: what is damaged is simulated
    /// again). Called from any thread; may be empty.
    std::function<std::optional<std::string>(const std::string& fingerprint)> find;
    std::function<void(const std::string& fingerprint, const std::string& text)> keep;
    std::function<bool()> proceed;           ///< false interrupts; may be empty
    std::function<void(std::size_t)> begin;  ///< told how many are to be simulated; may be empty
    std::function<void()> finished;          ///< told of each; from any thread; may be empty
  };

  explicit Runs(Options options) : options_(std::move(options)) {}

  /// Thrown where a result is asked for after somebody interrupted.
  struct Stopped {};

  /// The result of `scenario`, or null: then it is to be simulated. `fingerprint` is filled where it is empty. Throws
  /// Stopped.
  const results::Json* document(const scenario::Scenario& scenario, std::string& fingerprint);
  /// How often a result was asked for that was not there.
  [[nodiscard]] std::size_t asked_in_vain() const { return in_vain_; }
  /// Simulates what was asked for. False where nothing was, or it was interrupted.
  bool simulate_missing();
  [[nodiscard]] bool interrupted() const { return interrupted_; }
  /// How many results there are, and how many of them this process simulated.
  [[nodiscard]] std::size_t size() const { return documents_.size(); }
  [[nodiscard]] std::size_t simulated() const { return simulated_; }

 private:
  Options options_;
  std::map<std::string, results::Json> documents_;
  std::map<std::string, scenario::Scenario> missing_;
  std::size_t in_vain_ = 0, simulated_ = 0;
  bool interrupted_ = false;
};

}  // namespace kvsim::validation
