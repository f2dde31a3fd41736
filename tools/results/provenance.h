// Where the figures that a run used come from: datasheet, publication, measurement, assumption.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace kvsim::results {

struct Provenance {
  std::string figure;     ///< "gpu.memory_bandwidth"
  std::string value;      ///< with its unit; "curve" or "table" where it is one
  std::string source;     ///< "datasheet", ...
  std::string reference;  ///< document or way of measuring; may be empty for figures the scenario sets
};

/// "datasheet", ...: the word of a kind of source.
std::string_view source_word(schema::SourceKind kind);

/// The figures of the machines, the model, the profile and the compressor that this scenario uses.
std::vector<Provenance> provenance_of(const scenario::Scenario& scenario);

/// What the scenario takes for granted, in words: its author's assumptions, then the figures it uses that are such.
std::vector<std::string> assumptions_of(const scenario::Scenario& scenario);

}  // namespace kvsim::results
