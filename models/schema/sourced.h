// A figure together with where it comes from. Every hardware figure of the catalogue is one, and reports print it.
#pragma once

#include <string>

namespace kvsim::schema {

enum class SourceKind { datasheet, publication, measurement, derived, assumption, scenario };

struct Source {
  SourceKind kind = SourceKind::scenario;  ///< `scenario`: set in place by the user
  std::string reference;                   ///< document, paper with table or equation, or how it was measured
};

/// YAML: `{value: 80 GB, source: datasheet, reference: "..."}`; a bare `80 GB` means: set by the scenario.
template <class T>
struct Sourced {
  T value{};
  Source source;
};

}  // namespace kvsim::schema
