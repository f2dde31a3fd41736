// What the figures of a report rest on, as lists: each item once, in the order in which results bring them up.
#pragma once

#include <string>
#include <vector>

#include "tools/report/documents.h"

namespace kvsim::report {

/// Of one scenario.
struct Assumed {
  std::string scenario;
  std::vector<std::string> items;
};

/// Assumptions by scenario.
[[nodiscard]] std::vector<Assumed> assumptions_of(const Inputs& inputs);
[[nodiscard]] std::vector<std::string> fallbacks_of(const Inputs& inputs);

/// A figure of a machine, a model or a compressor, and where it is from; members of the result's "sources".
struct SourcedFigure {
  std::string figure, value, source, reference;
  auto operator<=>(const SourcedFigure&) const = default;
};
[[nodiscard]] std::vector<SourcedFigure> sources_of(const Inputs& inputs);

/// The price tables' entries, as the documents have them.
[[nodiscard]] std::vector<Json> prices_of(const Inputs& inputs);

}  // namespace kvsim::report
