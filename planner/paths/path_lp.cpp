#include "planner/paths/path_lp.h"

#include <fmt/format.h>

#include <ClpSimplex.hpp>
#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace kvsim::planner {
namespace {

constexpr double kTolerance = 1e-11;  // of CLP, on coefficients between 0 and 1
constexpr double kTie = 1e-9;         // reduced costs and prices below it are 0
constexpr int kNoPerturbation = 100;  // CLP would perturb costs at random against cycling: not on six columns

/// The LP with every row divided by its limit and every column by its largest entry, so that all numbers are in [0, 1]
/// and a column's variable is the share that its scarcest resource gives to it. Empty rows and unusable columns are
/// out.
struct Scaled {
  std::vector<std::size_t> rows, columns;  ///< Resource and Path numbers
  std::vector<double> size;                ///< of each column: n = share / size
  double objective = 0;                    ///< largest 1/size, by which the objective is divided
};

Scaled scale(const PathLp& lp) {
  Scaled s;
  for (std::size_t r = 0; r < kResources; ++r) {
    if (lp.limits[r] > 0) s.rows.push_back(r);
  }
  for (const Path path : kAllPaths) {
    if (!lp.usable(path)) continue;
    const auto i = static_cast<std::size_t>(path);
    double size = 0;
    for (const std::size_t r : s.rows) size = std::max(size, lp.costs[i][r] / lp.limits[r]);
    s.columns.push_back(i);
    s.size.push_back(size);
    s.objective = std::max(s.objective, 1 / size);
  }
  return s;
}

void load(ClpSimplex& model, const PathLp& lp, const Scaled& s) {
  const std::size_t rows = s.rows.size(), columns = s.columns.size();
  std::vector<int> starts, indices;
  std::vector<double> values, objective;
  for (std::size_t j = 0; j < columns; ++j) {
    starts.push_back(static_cast<int>(values.size()));
    for (std::size_t k = 0; k < rows; ++k) {
      const double value = lp.costs[s.columns[j]][s.rows[k]] / lp.limits[s.rows[k]] / s.size[j];
      if (value == 0) continue;
      indices.push_back(static_cast<int>(k));
      values.push_back(value);
    }
    objective.push_back(-1 / s.size[j] / s.objective);  // CLP minimises
  }
  starts.push_back(static_cast<int>(values.size()));
  const std::vector<double> zeros(columns, 0.0), unbounded(columns, COIN_DBL_MAX);
  const std::vector<double> below(rows, -COIN_DBL_MAX), above(rows, 1.0);
  model.loadProblem(static_cast<int>(columns), static_cast<int>(rows), starts.data(), indices.data(), values.data(),
                    zeros.data(), unbounded.data(), objective.data(), below.data(), above.data());
}

void optimise(ClpSimplex& model) {
  model.primal();
  if (!model.isProvenOptimal()) throw std::runtime_error("CLP did not solve the path LP to optimality");
}

/// From one optimum to the one that fills the most slots. Rows with a price stay tight and columns with a reduced cost
/// at 0: that is the optimal face.
void fill_slots(ClpSimplex& model, const PathLp& lp, const Scaled& s) {
  const std::size_t rows = s.rows.size(), columns = s.columns.size();
  std::vector<std::size_t> priced, worthless;
  for (std::size_t k = 0; k < rows; ++k) {
    if (-model.getRowPrice()[k] > kTie) priced.push_back(k);
  }
  for (std::size_t j = 0; j < columns; ++j) {
    if (model.getReducedCost()[j] > kTie) worthless.push_back(j);
  }
  if (rows - priced.size() + columns - worthless.size() <= rows) return;  // the face is a vertex
  for (const std::size_t k : priced) model.setRowLower(static_cast<int>(k), model.getRowActivity()[k]);
  for (const std::size_t j : worthless) model.setColumnUpper(static_cast<int>(j), 0);
  for (std::size_t j = 0; j < columns; ++j) {
    double slots = 0;
    for (const Resource mem : {Resource::local_mem, Resource::remote_mem}) {
      const auto r = static_cast<std::size_t>(mem);
      if (lp.limits[r] > 0) slots += lp.costs[s.columns[j]][r] / lp.limits[r] / s.size[j];
    }
    model.setObjectiveCoefficient(static_cast<int>(j), -slots);
  }
  optimise(model);
}

}  // namespace

bool PathLp::usable(Path path) const {
  const auto i = static_cast<std::size_t>(path);
  if (!allowed[i]) return false;
  for (std::size_t r = 0; r < kResources; ++r) {
    if (costs[i][r] > 0 && !(limits[r] > 0)) return false;
  }
  return true;
}

PathLpSolution solve(const PathLp& lp) {
  PathLpSolution solution;
  const Scaled s = scale(lp);
  if (s.columns.empty()) return solution;
  ClpSimplex model;
  model.setLogLevel(0);
  model.scaling(0);
  model.setPerturbation(kNoPerturbation);
  model.setPrimalTolerance(kTolerance);
  model.setDualTolerance(kTolerance);
  load(model, lp, s);
  optimise(model);
  for (std::size_t k = 0; k < s.rows.size(); ++k) {
    solution.price[s.rows[k]] = std::max(0.0, -model.getRowPrice()[k]) * s.objective / lp.limits[s.rows[k]];
  }
  fill_slots(model, lp, s);
  for (std::size_t j = 0; j < s.columns.size(); ++j) {
    const double n = std::max(0.0, model.getColSolution()[j]) / s.size[j];
    solution.n[s.columns[j]] = n;
    solution.requests_per_s += n;
  }
  return solution;
}

std::string lp_text(const PathLp& lp, double tokens_per_request, const std::string& remarks) {
  std::string text;
  std::istringstream lines(remarks);
  for (std::string line; std::getline(lines, line);) text += fmt::format("\\ {}\n", line);
  const auto sum = [&lp](const auto& coefficient) {
    std::string terms;
    for (const Path path : kAllPaths) {
      const double value = coefficient(static_cast<std::size_t>(path));
      if (!lp.allowed[static_cast<std::size_t>(path)] || value == 0) continue;
      terms += fmt::format("{}{} {}", terms.empty() ? "" : " + ", value, path_name(path));
    }
    return terms;
  };
  text += fmt::format("Maximize\n tokens_per_s: {}\n", sum([&](std::size_t) { return tokens_per_request; }));
  text += "Subject To\n";
  for (const Resource resource : kAllResources) {
    const auto r = static_cast<std::size_t>(resource);
    const std::string terms = sum([&](std::size_t i) { return lp.costs[i][r]; });
    if (!terms.empty()) text += fmt::format(" {}: {} <= {}\n", resource_name(resource), terms, lp.limits[r]);
  }
  return text + "End\n";
}

}  // namespace kvsim::planner
