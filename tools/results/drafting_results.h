// What a result says of drafts: an auxiliary drafter's, and what the policy itself drafts on or decodes with. In the
// document, on the run's page, and in words. Internal to these.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/results/result_document.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// Whether an auxiliary drafter proposes tokens.
[[nodiscard]] bool has_drafter(const scenario::Scenario& scenario);

/// Whether drafts go on from prompts as they were loaded or put together: nothing is compressed for them.
[[nodiscard]] bool drafts_as_found(const serving::ServingConfig& config);

/// Of these, whether they go on only until the prompt is computed whole.
[[nodiscard]] bool drafts_until_computed(const serving::ServingConfig& config);

/// Whether the policy itself reads what a compressor makes or a selection chooses, running requests' KV being its own.
[[nodiscard]] bool reads_own_choice(const serving::ServingConfig& config);

/// "draft_verify with kvzip, keep ratio 0.2, draft length 25", "sparse_self reading 0.05 of the KV, chosen by
/// magicdec-snapkv, ...", "drafter, eagle3-llama-3.1-8b proposing 3 tokens a step".
[[nodiscard]] std::string decoding_text(const serving::ServingConfig& config);

/// "0.6 a token", "0.74, 0.54 by position": a law of accepted lengths.
[[nodiscard]] std::string acceptance_text(const models::AcceptanceSpec& law);

/// Adds the object "drafter" to the document where there is one.
void add_drafter(Section& document, const Outcome& outcome);

/// The same figures as a table.
Table drafter_table(const Outcome& outcome);

/// What its keys mean; beside metric_definitions().
std::span<const std::pair<std::string_view, std::string_view>> drafter_definitions();

/// What drafting takes for granted, in sentences.
std::vector<std::string> drafting_assumptions(const scenario::Scenario& scenario);

}  // namespace kvsim::results
