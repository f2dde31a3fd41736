// A catalogue entry as a file that `include` reads.
#pragma once

#include <string>

#include "models/catalogue/catalogue.h"
#include "models/llm/llm_spec.h"
#include "models/schema/config_node.h"

namespace kvsim::cli {

/// A section with one entry. A `name` in it is left out: its key says it.
std::string entry_text(models::EntryKind kind, const std::string& name, schema::ConfigNode entry);

/// Facts derived from a model, as comments: parameters, bytes of weights and of KV per token.
std::string model_facts(const models::LlmSpec& model);

}  // namespace kvsim::cli
