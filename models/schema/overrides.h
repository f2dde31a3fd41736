// Changes to a configuration after it was read: --set from the command line, and changes to catalogue entries.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/schema/config_node.h"

namespace kvsim::schema {

/// A key and what to write there, from wherever it was read.
struct Assignment {
  std::string path;                  ///< dotted
  std::optional<std::string> value;  ///< YAML: a scalar, or a list or map in flow style; none: the key is taken away
  Origin origin{};                   ///< of everything that it writes: "--vary a.b.c", a line of a file
};

/// Like apply_set. Throws InputError at the assignment's origin.
void assign(ConfigNode& root, const Assignment& assignment);

/// Takes away the value at a dotted path of maps, if there is one.
void take_away(ConfigNode& root, std::string_view path);

/// Applies `a.b.c=value`, the value written in YAML (a scalar, or a list or map in flow style). Missing maps are
/// created; list items are named by number from 0 (the number one past the end appends). On the way through a scalar,
/// which can only be a catalogue name or a shorthand, the scalar becomes `{base: scalar, ...}`:
/// `--set gpu.memory="100 GB"` turns `gpu: h100-sxm` into `gpu: {base: h100-sxm, memory: 100 GB}`.
/// Every value that it writes has the origin `--set a.b.c`. Throws InputError.
void apply_set(ConfigNode& root, std::string_view assignment);

/// `over` on top of `base`: maps merge key by key, anything else replaces. A figure and its source are one thing: a map
/// with the key `value` or `points` replaces whole, so that no new figure inherits an old source.
ConfigNode merge(const ConfigNode& base, const ConfigNode& over);

}  // namespace kvsim::schema
