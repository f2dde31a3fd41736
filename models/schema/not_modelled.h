// Words of other programs that people look for in a scenario: what kvsim has not, and what it has by another name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kvsim::schema {

/// Where the list is, for the end of a message.
inline constexpr std::string_view kWhereNotModelled =
    "docs/overview.md lists what is not modelled, and what to use instead";

/// Whether a word that is no key of a map, or a model's name up to its version, is on the list of docs/overview.md:
/// "disaggregated", "deepseek-v4". Case, `_` and `-` do not matter.
[[nodiscard]] bool is_not_modelled(std::string_view word);

/// The hint behind an unknown name of a catalogue entry: `deepseek-v4 is not modelled (docs/overview.md); the nearest
/// entry is "deepseek-v3.2"` for another version of a family that is there, else `did you mean "x"?`; empty where
/// nothing is near.
[[nodiscard]] std::string meant_entry(std::string_view name, std::span<const std::string> entries);

/// "vLLM's max_num_seqs is schedule.max_requests here" for an option of a serving engine; empty for other words. Case,
/// `_` and `-` do not matter.
[[nodiscard]] std::string engine_option(std::string_view word);
/// The key that it is here: "schedule.max_requests"; empty for other words.
[[nodiscard]] std::string_view key_of_engine_option(std::string_view word);

}  // namespace kvsim::schema
