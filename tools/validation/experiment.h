// What experiments came to: published points beside simulated ones, and a verdict.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/validation/experiment_file.h"
#include "tools/validation/runs.h"

namespace kvsim::validation {

enum class Outcome {
  reproduced,  ///< every published point is within its tolerance, every claim holds
  shape,       ///< order and direction are as published
  off,
  cannot  ///< nothing of it can be simulated
};

std::string_view to_string(Outcome outcome);

/// A point that is published and simulated.
struct JudgedPoint {
  std::string panel, series, at, place;
  std::size_t panel_index = 0;
  double low = 0, high = 0;  ///< published; equal where it is no range
  double simulated = 0;
  double tolerance = 0;

  /// (simulated - published) / |published|, of a range from its nearer end; 0 within it.
  [[nodiscard]] double error() const;
  [[nodiscard]] bool within() const;
  /// |ln(simulated / published)|, of a range from its nearer end: what the criterion for free assumptions is a mean of.
  /// Infinite of what is not there, or has another sign.
  [[nodiscard]] double distance() const;
  [[nodiscard]] double middle() const { return (low + high) / 2; }
};

/// Whether points of a panel lie to each other as published, and none on the other side of a level. Compared are points
/// of one series and points at one place, where what is published differs by more than the tolerance. No value where
/// nothing is.
std::optional<bool> in_order(const std::vector<JudgedPoint>& points, std::optional<double> level);

struct JudgedClaim {
  std::string what, place;
  bool holds = false;
};

struct SimulatedSeries {
  std::string name;
  std::vector<double> values;  ///< by row of the panel's x axis
};

/// How near points lie to what is published.
struct Closeness {
  std::size_t points = 0, within = 0;
  double distance = 0;  ///< JudgedPoint::distance(), added up

  void add(const Closeness& other);
  /// 0 without points.
  [[nodiscard]] double mean() const;
};

Closeness closeness_of(const std::vector<JudgedPoint>& points);

struct Reproduced {
  const ExperimentFile* file = nullptr;
  std::vector<std::vector<SimulatedSeries>> panels;
  std::vector<JudgedPoint> points;
  std::vector<JudgedClaim> claims;
  std::vector<std::string> assumptions;
  std::string miss;  ///< filled in
  Outcome outcome = Outcome::cannot;

  /// With another value of a free assumption.
  struct Other {
    std::string name, value;
    Outcome outcome = Outcome::cannot;
    Closeness closeness;
  };
  std::vector<Other> others;

  /// The point that is furthest off; null where there is none.
  [[nodiscard]] const JudgedPoint* worst() const;
};

/// `points` by panel come with the panels' levels.
Outcome outcome_of(const std::vector<JudgedPoint>& points, const std::vector<JudgedClaim>& claims,
                   const std::vector<std::optional<double>>& levels);

/// Simulates and judges them. `sensitivity`: again with each alternative of each free assumption. Every file is asked
/// before anything is simulated. Throws schema::InputError; what is interrupted is said by `runs`.
std::vector<Reproduced> reproduce(const std::vector<ExperimentFile>& files, Runs& runs, bool sensitivity);

}  // namespace kvsim::validation
