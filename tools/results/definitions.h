// What each metric means here. Other tools mean other things by the same words, so every result says ours.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace kvsim::results {

/// {metric, its unit and definition}.
std::span<const std::pair<std::string_view, std::string_view>> metric_definitions();

}  // namespace kvsim::results
