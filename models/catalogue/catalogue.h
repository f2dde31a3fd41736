// Named entries that scenarios refer to: GPUs, links, models, compressors, drafters, profiles of kernels and of
// attention, data sets, tasks over retrieved chunks, serving engines. Built from YAML files inside the binary, to which
// users add files of their own. A file is a map of kinds to maps of entries:
//
//   gpus:
//     my-card: {base: h100-sxm, memory: 141 GB}   # an entry may begin as another one and change what it names
//   override: true                                # allows names that exist already; without it they are errors
//
// An entry whose base is its own name changes the existing entry and needs no `override`. Changes follow the rules of
// schema::merge: a figure with its source is replaced whole.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/catalogue/catalogue_text.h"
#include "models/compression/compressor_spec.h"
#include "models/drafting/drafter_spec.h"
#include "models/engines/engine_spec.h"
#include "models/hardware/gpu.h"
#include "models/hardware/link_spec.h"
#include "models/kernels/profile.h"
#include "models/llm/llm_spec.h"
#include "models/prefetch/prefetch_spec.h"
#include "models/reuse/rag_task.h"
#include "models/schema/config_node.h"
#include "models/schema/object_info.h"
#include "models/schema/parse_context.h"
#include "models/workload/dataset.h"

namespace kvsim::models {

// The kinds of entry that a catalogue holds, by the words users know them by.

enum class EntryKind { gpu, link, model, compressor, drafter, profile, attention_profile, dataset, rag_task, engine };

inline constexpr std::array all_entry_kinds{EntryKind::gpu,
                                            EntryKind::link,
                                            EntryKind::model,
                                            EntryKind::compressor,
                                            EntryKind::drafter,
                                            EntryKind::profile,
                                            EntryKind::attention_profile,
                                            EntryKind::dataset,
                                            EntryKind::rag_task,
                                            EntryKind::engine};

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

class Catalogue : public schema::ReferenceResolver {
 public:
  /// Nothing in it.
  Catalogue() = default;

  /// The catalogue that the binary carries. An entry is parsed when it is first asked for.
  static Catalogue built_in();

  /// Adds the entries of files that were read, all at once, so that an entry may have its base in any of them. Throws
  /// InputError for unknown kinds, names that exist already, unknown bases, cycles of bases and entries that their
  /// schema refuses. After an exception the catalogue is as before.
  void add(std::span<const schema::ConfigNode> documents);

  /// Reads and adds files.
  void add_files(std::span<const std::string> paths);

  /// The entry with its bases applied and its `name` as first key. `asked_at` is where the name was written: an unknown
  /// one is an InputError there, with the nearest name.
  [[nodiscard]] const schema::ConfigNode& find(EntryKind kind, std::string_view name,
                                               const schema::Origin& asked_at = {}, std::string_view path = {}) const;
  [[nodiscard]] bool contains(EntryKind kind, std::string_view name) const;

  struct Line {
    std::string name;
    std::string description;
    schema::Origin origin;  ///< of the name in its file
  };
  /// Every entry of a kind, by name.
  [[nodiscard]] std::vector<Line> list(EntryKind kind) const;

  /// An entry as its struct; throws InputError like find.
  [[nodiscard]] GpuSpec gpu(std::string_view name, const schema::Origin& asked_at = {}) const;
  [[nodiscard]] LinkSpec link(std::string_view name, const schema::Origin& asked_at = {}) const;
  [[nodiscard]] LlmSpec model(std::string_view name, const schema::Origin& asked_at = {}) const;
  [[nodiscard]] CompressorSpec compressor(std::string_view name, const schema::Origin& asked_at = {}) const;
  [[nodiscard]] DrafterSpec drafter(std::string_view name, const schema::Origin& asked_at = {}) const;
  [[nodiscard]] KernelProfile profile(std::string_view name, const schema::Origin& asked_at = {}) const;
  [[nodiscard]] AttentionProfile attention_profile(std::string_view name, const schema::Origin& asked_at = {}) const;
  [[nodiscard]] DatasetSpec dataset(std::string_view name, const schema::Origin& asked_at = {}) const;
  [[nodiscard]] RagTask rag_task(std::string_view name, const schema::Origin& asked_at = {}) const;
  [[nodiscard]] EngineSpec engine(std::string_view name, const schema::Origin& asked_at = {}) const;

  /// Where a profile says of the GPU it was measured on what the catalogue's entry of that GPU denies: a key of the
  /// profile and what is wrong with it. Nothing where the GPU is unknown to both or the profile was measured on none.
  struct Contradiction {
    std::string key;
    std::string message;
  };
  [[nodiscard]] std::optional<Contradiction> contradiction(const KernelProfile& profile) const;

  /// For schemas' reference fields. An entry changed in place is named "x (changed)", one written inline "inline",
  /// unless it has a `name` of its own.
  [[nodiscard]] schema::ConfigNode resolve(std::string_view catalogue, const schema::ConfigNode& reference,
                                           std::string_view path) const override;

 private:
  /// A node that is made when it is first asked for. Threads may ask at once.
  class Deferred {
   public:
    template <class Make>
    [[nodiscard]] const schema::ConfigNode& get(const Make& make) const {
      std::call_once(made_, [&] { node_ = make(); });
      return node_;
    }

   private:
    mutable std::once_flag made_;
    mutable schema::ConfigNode node_;
  };

  /// Copies of a catalogue share what was made for one of them.
  class Entry {
   public:
    explicit Entry(const EntryText& text);                                 ///< of the binary
    Entry(schema::ConfigNode written, schema::Origin origin);              ///< of a file that was read
    [[nodiscard]] const schema::ConfigNode& written() const;               ///< as in the file, `base` included
    [[nodiscard]] const Deferred& resolved() const { return *resolved_; }  ///< with bases applied and `name`
    [[nodiscard]] const schema::Origin& origin() const { return text_.origin; }
    /// Its base may have changed.
    void resolve_again() { resolved_ = std::make_shared<const Deferred>(); }

   private:
    EntryText text_;
    std::shared_ptr<const Deferred> written_ = std::make_shared<const Deferred>();
    std::shared_ptr<const Deferred> resolved_ = std::make_shared<const Deferred>();
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  void insert(EntryKind kind, const schema::ConfigNode::Entry& entry, bool override_allowed);
  [[nodiscard]] const schema::ConfigNode& resolved(EntryKind kind, const std::string& name, const Entry& entry) const;
  /// Throws InputError where the entry's base, or a base of that, does not exist, or bases form a circle.
  void check_bases(EntryKind kind, const std::string& name) const;
  /// Throws InputError at the key that contradicts the GPU the profile was measured on.
  void check_measured_on(const std::string& name) const;

  std::map<EntryKind, Entries> entries_;
};

}  // namespace kvsim::models
