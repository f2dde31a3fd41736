// Everything that has a name users can write: catalogue entries, policies, trace formats, metrics. `list`, `show` and
// shell completion all work from here.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/catalogue/catalogue.h"
#include "sim/scenario/scenario.h"
#include "tools/results/documents.h"

namespace kvsim::cli {

struct NamedThing {
  std::string name;
  std::string description;
  /// Facts of a metric: unit, better ("higher", "lower", "neither") and when it is there, as documents have them.
  std::vector<std::pair<std::string_view, std::string>> more = {};
};

/// A kind of named thing, by the word that `kvsim list` takes.
struct ThingKind {
  std::string_view plural;
  std::string_view singular;
  std::string_view description;
  std::optional<models::EntryKind> catalogue;         ///< where it is a kind of catalogue entry
  std::vector<NamedThing> (*registered)() = nullptr;  ///< where it is in the program
};

std::span<const ThingKind> thing_kinds();

/// Throws schema::InputError with the nearest word.
const ThingKind& find_thing_kind(std::string_view word);

/// Every document that kvsim prints as JSON, by kind; their numbers are the things of kind "metrics".
const std::vector<results::DocumentKind>& document_kinds();

std::vector<NamedThing> things_of(const ThingKind& kind, const models::Catalogue& catalogue);

/// Names of GPUs that a price may be given for: the catalogue's, and that of the scenario's own.
std::vector<std::string> names_of_gpus(const scenario::Scenario& scenario);

/// The built-in catalogue with the entries of further files.
models::Catalogue catalogue_with(const std::vector<std::string>& files);

}  // namespace kvsim::cli
