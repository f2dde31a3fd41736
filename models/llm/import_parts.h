// Maps of an entry that stand for a part of a layer. Each throws schema::InputError at the field that it cannot read.
#pragma once

#include <string>
#include <vector>

#include "models/llm/import_layers.h"

namespace kvsim::models::imports {

/// kv_heads, head_dim and, where there are layers with one, the window. Of layers with a window where heads of their
/// own are stated; Gemma 4 states those of the other layers.
void add_heads(ConfigNode& entry, Fields& fields, const Family& family, const Layers& layers,
               std::vector<std::string>& remarks);

/// attention and mla (import_attention.cpp).
void add_latent(ConfigNode& entry, Fields& fields);

/// The window and the indexer of latent layers that attend to what one selects.
void add_indexer(ConfigNode& entry, Fields& fields, const Layers& layers, std::vector<std::string>& remarks);

/// state (import_state.cpp).
void add_state(ConfigNode& entry, Fields& fields, StateKeys keys, const Layers& layers,
               std::vector<std::string>& remarks);

}  // namespace kvsim::models::imports
