// Functional correctness on pages: it stands beside the task score of every output that is not that of full-KV
// decoding.
#pragma once

#include <string>
#include <string_view>

#include "models/compression/functional.h"
#include "tools/results/section.h"

namespace kvsim::results {

/// Said where no functional figure is published; the section is in docs/findings.md.
inline constexpr std::string_view kFunctionalUnknown = "functional correctness not known: see findings";

/// "functional correctness: calls 0.100, code format 0.000"; kFunctionalUnknown where none is known.
[[nodiscard]] std::string functional_words(const models::FunctionalScores& scores);

/// In a table: "lossless", the least of the scores that are known ("0.000"), or "not known".
[[nodiscard]] std::string functional_text(bool lossless, double least);

/// The scores that a run's document has; what it lacks is not known.
[[nodiscard]] models::FunctionalScores functional_of(const Json& result);

/// The sentence of columns with functional_text(), by the column's name.
[[nodiscard]] std::string functional_note(std::string_view column);

}  // namespace kvsim::results
