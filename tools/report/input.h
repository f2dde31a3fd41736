// The result documents that a report is made of.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tools/report/view.h"

namespace kvsim::report {

/// What a document says, by the keys it has.
enum class Kind { run, runs, compare, sweep, plan, capacity, other };

/// Throws schema::InputError, which names `name`, where it is no result of kvsim, or of a newer one.
[[nodiscard]] Kind kind_of(const Json& document, const std::string& name);

/// The results of one simulation.
struct Simulated {
  Json result;         ///< as of `kvsim run`
  std::string policy;  ///< as asked for by a comparison, else the decode policy's name
};

/// All documents, each kind in the order in which they were read.
struct Inputs {
  std::vector<Simulated> runs;  ///< of run
  struct Compared {
    Json document;  ///< without its results
    std::vector<Simulated> results;
  };
  std::vector<Compared> compares;
  std::vector<Json> sweeps, plans, capacities, others;
  std::set<std::string> seen;  ///< what was added, as text: the same result given twice counts once

  [[nodiscard]] std::size_t size() const {
    return runs.size() + compares.size() + sweeps.size() + plans.size() + capacities.size() + others.size();
  }
  /// Throws schema::InputError as kind_of does.
  void add(Json document, const std::string& name);
};

/// Reads JSON files, and of folders all results in them and in folders below, in the order of their names. Throws
/// schema::InputError for what is not there, is no JSON or no result, and for folders without any.
[[nodiscard]] Inputs read_inputs(const std::vector<std::string>& paths);

}  // namespace kvsim::report
