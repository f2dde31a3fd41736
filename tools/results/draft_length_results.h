// What a result says of draft lengths: in the document, on the run's page, and in words. Internal to these.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "sim/scenario/scenario.h"
#include "sim/serving/measurements.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// Adds the object "draft_length" to the section "speculation" where replicas verify.
void add_draft_lengths(Section& speculation, const scenario::Scenario& scenario, const serving::Measurements& m);

/// The same figures as rows of a table of key figures; none where nothing was drafted on replicas.
void add_draft_length_rows(Table& table, const scenario::Scenario& scenario, const serving::Measurements& m);

/// "25", "adaptive (1 to 64)" or "table".
std::string draft_length_text(const serving::DecodeConfig& decode);

/// What its keys mean; beside metric_definitions().
std::span<const std::pair<std::string_view, std::string_view>> draft_length_definitions();

}  // namespace kvsim::results
