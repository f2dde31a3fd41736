// Keys that were written for scenarios, in a file or on the command line, and that no simulation of them reads. The
// schema's rules (ObjectSchema::unread) say which these are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/schema/error.h"
#include "sim/scenario/scenario.h"

namespace kvsim::scenario {

/// A key without effect, where it was written.
struct KeyWithoutEffect {
  std::string path;  ///< dotted
  std::string why;   ///< and the key that has the effect
  schema::Origin origin;
  bool in_file = false;  ///< of the scenario; else on the command line, or in a list of points
};

/// The keys that were written for a scenario and that nothing reads. Left out are those of a file that have their
/// default, and those that a policy's name stands for (`--policies`).
std::vector<KeyWithoutEffect> keys_without_effect(const Scenario& scenario);

/// Whether a value, as the field table writes it, is the default of the key: resolved scenarios write every default.
bool has_default(std::string_view path, const schema::ConfigNode& value);

/// Collects the keys that have an effect on none of several scenarios: the points of a sweep, the policies of a
/// comparison.
class UnreadByAll {
 public:
  void add(const Scenario& scenario);

  /// Whether more scenarios can make a difference: none was added, or some key has no effect yet.
  [[nodiscard]] bool open() const { return !begun_ || !keys_.empty(); }

  /// Throws schema::InputError where there are keys of a command line, or of a list of points.
  void refuse() const;
  /// A sentence on the keys of a file of each reason.
  [[nodiscard]] std::vector<std::string> remarks() const;

 private:
  bool begun_ = false;
  std::vector<KeyWithoutEffect> keys_;
};

/// A key may be set by itself (`--set workload.arrivals.rate=3/s`), or within a map that must have it.
enum class WithinMap : std::uint8_t { refused, allowed };

/// Refuses keys of a command line that the command does not read; `why` names what has the effect.
void refuse_if_set(const Scenario& scenario, std::span<const char* const> keys, const std::string& why,
                   WithinMap within);

}  // namespace kvsim::scenario
