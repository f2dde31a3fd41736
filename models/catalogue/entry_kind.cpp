#include "models/catalogue/entry_kind.h"

#include <stdexcept>

#include "models/compression/compressor_schema.h"
#include "models/drafting/drafter_schema.h"
#include "models/hardware/gpu_schema.h"
#include "models/hardware/link_schema.h"
#include "models/kernels/profile_schema.h"
#include "models/llm/llm_schema.h"
#include "models/prefetch/prefetch_schema.h"
#include "models/reuse/rag_task_schema.h"
#include "models/workload/dataset_schema.h"

namespace kvsim::models {
namespace {

/// Calls `use` with the kind's schema.
template <class Use>
decltype(auto) with_schema(EntryKind kind, const Use& use) {
  switch (kind) {
    case EntryKind::gpu:
      return use(gpu_schema());
    case EntryKind::link:
      return use(link_schema());
    case EntryKind::model:
      return use(llm_schema());
    case EntryKind::compressor:
      return use(compressor_schema());
    case EntryKind::drafter:
      return use(drafter_schema());
    case EntryKind::profile:
      return use(profile_schema());
    case EntryKind::attention_profile:
      return use(attention_profile_schema());
    case EntryKind::dataset:
      return use(dataset_schema());
    case EntryKind::rag_task:
      return use(rag_task_schema());
  }
  throw std::logic_error("with_schema: no such kind");
}

}  // namespace

std::string_view singular(EntryKind kind) {
  constexpr std::array<std::string_view, all_entry_kinds.size()> words{
      "gpu", "link", "model", "compressor", "drafter", "profile", "attention_profile", "dataset", "rag_task"};
  return words.at(static_cast<std::size_t>(kind));
}

std::string_view plural(EntryKind kind) {
  constexpr std::array<std::string_view, all_entry_kinds.size()> words{
      "gpus", "links", "models", "compressors", "drafters", "profiles", "attention_profiles", "datasets", "rag_tasks"};
  return words.at(static_cast<std::size_t>(kind));
}

EntryKind entry_kind(std::string_view word) {
  for (const EntryKind kind : all_entry_kinds) {
    if (word == singular(kind) || word == plural(kind)) return kind;
  }
  throw std::logic_error("no catalogue of " + std::string(word));
}

const schema::ObjectInfo& entry_info(EntryKind kind) {
  return with_schema(kind, [](const auto& schema) -> const schema::ObjectInfo& { return schema.info(); });
}

void check_entry(EntryKind kind, const schema::ConfigNode& entry, const std::string& path,
                 const schema::ReferenceResolver* references) {
  with_schema(kind, [&](const auto& schema) { static_cast<void>(schema.parse(entry, {path, references})); });
}

}  // namespace kvsim::models
