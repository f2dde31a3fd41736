// A figure or table of a paper, or of a user's own measurements, as an experiment: what is simulated, what is plotted
// against what, the points that were published, how far off they may be. docs/reproduce.md describes the format, whose
// runs, choices and terms are those of kvsim validate (figure_file.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/plot/frame.h"
#include "tools/validation/figure_file.h"

namespace kvsim::validation {

/// Assumption that a paper leaves open, chosen once for all of its figures. Experiments have it as parameter {name}.
struct FreeAssumption {
  std::string name, value, what;
  std::vector<std::string> alternatives;  ///< values with which verdicts are looked at again
};

/// The file of a paper that its experiments share: assumptions.yaml.
struct SharedFile : Vocabulary {
  std::string paper, criterion;
  std::vector<FreeAssumption> free;
};

/// Why a simulated point agrees with the published one, if it does.
enum class Evidence {
  prediction,  ///< nothing of it was known to the simulator
  fitted,      ///< a parameter or an assumption was chosen with this figure in view
  input        ///< the simulator was given it, in the catalogue or as the set-up
};

std::string_view to_string(Evidence evidence);

struct PublishedPoint {
  std::string at;  ///< of the first column of what is varied
  std::optional<double> is;
  std::vector<double> within;   ///< a range that several values were published as: low and high
  std::vector<double> between;  ///< bounds of a single value: low and high
  std::optional<double> tolerance;
  std::optional<Evidence> evidence;
  std::string place;

  [[nodiscard]] double low() const { return is ? *is : within.empty() ? between.at(0) : within[0]; }
  [[nodiscard]] double high() const { return is ? *is : within.empty() ? between.at(1) : within[1]; }
};

struct SeriesText {
  std::string name, simulated;
  std::optional<Evidence> evidence;
  std::vector<PublishedPoint> points;
};

/// Parameters that are varied, in columns, of which the first is where points lie.
struct XAxisText {
  std::string title;
  bool logarithmic = false;
  bool named = false;  ///< values are names, not numbers
  TextTable over;

  /// The first column.
  [[nodiscard]] std::vector<std::string> places() const;
};

struct YAxisText {
  std::string title;
  std::optional<double> level;  ///< on which side of it points lie is part of their order, as 1 of speedups
};

struct PanelText {
  std::string title;
  XAxisText x;
  YAxisText y;
  std::optional<double> tolerance;
  std::optional<Evidence> evidence;
  std::vector<SeriesText> series;
};

/// Claim of the paper without a number.
struct ClaimText {
  std::string what, holds, place;
};

struct ExperimentFile : Vocabulary {
  std::string name;  ///< "vericache/fig11", or the file's own
  std::string place, title, cannot, shares;
  Evidence evidence = Evidence::prediction;  ///< of points whose point, series and panel do not have it
  std::vector<PanelText> panels;
  std::vector<ClaimText> claims;
  std::vector<std::string> assumptions;
  std::string miss;                         ///< what explains that it is not reproduced; may hold figures
  std::shared_ptr<const SharedFile> paper;  ///< of `shares`; may be null
  std::string folder;                       ///< of a user's file
};

/// From what schema::read_yaml made of the file at `path`; what `shares` names is `shared`, null where there is none.
/// Throws schema::InputError.
ExperimentFile read_experiment(schema::ConfigNode document, const std::string& path,
                               std::shared_ptr<const SharedFile> shared);
SharedFile read_shared(schema::ConfigNode document);

/// "vericache" of "vericache/fig11".
std::string paper_of(const ExperimentFile& file);

/// Those that the binary carries, in the order of the papers.
std::vector<ExperimentFile> carried_experiments();
/// A user's file, and what it shares. Throws schema::InputError.
ExperimentFile experiment_at(const std::string& path);

}  // namespace kvsim::validation
