// Every page and document takes text and fields of the account of the replicas' time from here.
#pragma once

#include <string>
#include <string_view>

#include "sim/serving/bottleneck.h"
#include "tools/results/fields.h"

namespace kvsim::results {

/// "HBM 76 %".
[[nodiscard]] std::string bound_text(std::string_view name, double share);
/// "+41 %" says what twice of it would bring; empty where that is not known.
[[nodiscard]] std::string gain_text(double gain);
/// "tokeniser 99 %", "link 100 %": the thread or link beside the iterations that never rests (serving::kNeverRests). It
/// is the bottleneck then, whatever the iterations' time went to. Empty where both rest.
[[nodiscard]] std::string saturated_text(double tokeniser_busy, double link_in_use);

/// Returns the part that most of the time went to; `idle`: with idle time among the parts.
[[nodiscard]] const serving::TimePartName& largest_part(const serving::Bottleneck& b, bool idle);

/// Shares by key.
[[nodiscard]] Fields<serving::Bottleneck> time_share_fields();
/// The gain of twice each resource, by key.
[[nodiscard]] Fields<serving::Bottleneck> time_gain_fields();

}  // namespace kvsim::results
