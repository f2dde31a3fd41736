// Every page and document takes text and fields of the account of the replicas' time from here.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// More of a run's iterations than this share, launched kernel by kernel, is worth a remark.
inline constexpr double kLaunchedWorthSaying = 0.03;
/// "iterations launched kernel by kernel, as they have more tokens than captured ones: 12 % of full_kv, 31 % of
/// lossy": of those with more than kLaunchedWorthSaying, at most five of them, the most first; empty where none has.
/// `shares`: by name, not a number where there was no iteration.
[[nodiscard]] std::string launched_words(std::vector<std::pair<std::string, double>> shares);

/// The parts of the time that are at least 5 %, and the largest, the most first: "HBM 76 %, host 15 %".
[[nodiscard]] std::string bound_words(const serving::Bottleneck& b);

/// A Binding names the part that most of the time went to, or what never rests beside it (saturated_text()).
struct Binding {
  std::string text = "-";  ///< "compute 78 %"; "-" where no time was measured
  std::string twice;       ///< "+41 %", what twice of it would bring; empty where that is not known
};

/// `idle`: idle time may be what most of the time went to.
[[nodiscard]] Binding binding_of(const serving::Bottleneck& b, double tokeniser_busy, bool idle);

/// Returns the account of a document: `figure` of "bound_by" and of "twice" takes the key of a part, and of
/// "link_in_use" an empty key. A share that is not a number counts as none.
[[nodiscard]] serving::Bottleneck account_of(
    const std::function<double(std::string_view figure, std::string_view key)>& figure);

/// Shares by key.
[[nodiscard]] Fields<serving::Bottleneck> time_share_fields();
/// The gain of twice each resource, by key.
[[nodiscard]] Fields<serving::Bottleneck> time_gain_fields();

}  // namespace kvsim::results
