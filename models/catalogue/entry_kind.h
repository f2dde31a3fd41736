// The kinds of entry that a catalogue holds, by the words users know them by.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "models/schema/object_info.h"
#include "models/schema/parse_context.h"

namespace kvsim::models {

enum class EntryKind { gpu, link, model, compressor, drafter, profile, attention_profile, dataset, rag_task };

inline constexpr std::array all_entry_kinds{EntryKind::gpu,
                                            EntryKind::link,
                                            EntryKind::model,
                                            EntryKind::compressor,
                                            EntryKind::drafter,
                                            EntryKind::profile,
                                            EntryKind::attention_profile,
                                            EntryKind::dataset,
                                            EntryKind::rag_task};

/// "gpu", "model", ...: in messages, and the catalogue that a schema's reference field names.
[[nodiscard]] std::string_view singular(EntryKind kind);
/// "gpus", "models", ...: the key in catalogue files, and what `kvsim list` takes.
[[nodiscard]] std::string_view plural(EntryKind kind);
/// The kind of a word from either list; throws std::logic_error for any other.
[[nodiscard]] EntryKind entry_kind(std::string_view word);

/// The field table of the kind's entries.
[[nodiscard]] const schema::ObjectInfo& entry_info(EntryKind kind);
/// Parses an entry and drops it: throws InputError where it is not what its table says. `references` (not owned) is
/// where entries that it names are looked up; without it only those written inline are read.
void check_entry(EntryKind kind, const schema::ConfigNode& entry, const std::string& path,
                 const schema::ReferenceResolver* references);

}  // namespace kvsim::models
