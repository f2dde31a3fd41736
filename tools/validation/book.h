// Looks up what the expressions of one file of figures refer to: terms, choices, runs (each simulated once) and probes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/validation/expression.h"
#include "tools/validation/figure_file.h"
#include "tools/validation/probes.h"
#include "tools/validation/runs.h"

namespace kvsim::validation {

/// Data that figures may read beside what the binary carries, and which of them are wanted.
struct Inputs {
  /// The folder of measured data (measured_data.h); empty where there is none, and figures that need it are skipped.
  std::string measured{};
  std::string beginning{};              ///< only figures whose id begins so, without the group; empty: all
  std::vector<std::string> settings{};  ///< as of --set, of every run, after its own
  std::string folder{};                 ///< of the file, where scenarios may lie too; empty: the binary's alone
  std::function<void()> watch{};        ///< called before every run; may throw
};

class Book {
 public:
  /// Both must outlive it.
  /// `runs` has the simulations of several books; without it each is simulated when it is first asked for. With it
  /// what is not simulated yet is only remembered there: figures that depend on it are NaN.
  Book(const Vocabulary& file, const Inputs& inputs, Runs* runs = nullptr)
      : file_(file), inputs_(inputs), shared_runs_(runs) {
    measured_.folder = inputs.measured;
  }

  /// Throws ExpressionError where this text is wrong, schema::InputError where an entry that it refers to is.
  [[nodiscard]] double value(std::string_view expression);
  /// The text with parameters and computed figures in it; throws the same.
  [[nodiscard]] std::string text(std::string_view text, const Parameters& parameters);
  /// Assumptions of a scenario; throws the same.
  [[nodiscard]] const std::vector<std::string>& assumptions_of(const std::string& scenario);

 private:
  double look_up(const Reference& r);
  double answer_to(const Reference& r);
  double of_term(std::size_t index, const Parameters& parameters);
  std::string chosen(std::size_t index, const Reference& r, const Parameters& parameters);
  /// Null where it is yet to be simulated.
  const SimulatedRun* simulated(std::size_t index, Parameters parameters);
  [[nodiscard]] scenario::Scenario loaded(const std::string& path, const std::string& policy,
                                          const std::vector<std::string>& settings) const;
  double ask(const Reference& r, const std::string& name, const std::vector<std::string>& arguments,
             const SimulatedRun* run);

  const Vocabulary& file_;
  const Inputs& inputs_;
  Runs* shared_runs_;
  ReadData measured_;
  std::map<std::string, std::vector<std::string>> assumptions_;
  struct Known {
    SimulatedRun run;
    std::string fingerprint;
    bool loaded = false, ready = false;
  };
  std::map<std::string, Known> runs_;
  std::map<std::string, std::string> choices_;
  int depth_ = 0;  ///< of references inside references
};

}  // namespace kvsim::validation
