#include "models/catalogue/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "catalogue_files.h"  // generated: models/*/catalogue/*.yaml
#include "models/schema/error.h"
#include "models/schema/not_modelled.h"
#include "models/schema/overrides.h"
#include "models/schema/spelling.h"
#include "models/schema/yaml.h"
#include "models/schemas.h"

namespace kvsim::models {
namespace {

/// A kind of entry by its words and its field table.
struct KindRow {
  std::string_view singular, plural;
  const schema::ObjectInfo& (*info)();
  void (*check)(const schema::ConfigNode&, const schema::ParseContext&);  ///< parses and drops it
};

template <auto Table>
constexpr KindRow row(std::string_view singular, std::string_view plural) {
  return {singular, plural, []() -> const schema::ObjectInfo& { return Table().info(); },
          [](const schema::ConfigNode& entry, const schema::ParseContext& context) {
            static_cast<void>(Table().parse(entry, context));
          }};
}

/// In the order of EntryKind.
constexpr std::array<KindRow, all_entry_kinds.size()> kKinds{
    {row<gpu_schema>("gpu", "gpus"), row<link_schema>("link", "links"), row<llm_schema>("model", "models"),
     row<compressor_schema>("compressor", "compressors"), row<drafter_schema>("drafter", "drafters"),
     row<profile_schema>("profile", "profiles"),
     row<attention_profile_schema>("attention_profile", "attention_profiles"),
     row<dataset_schema>("dataset", "datasets"), row<rag_task_schema>("rag_task", "rag_tasks"),
     row<engine_schema>("engine", "engines")}};

const KindRow& row_of(EntryKind kind) {
  return kKinds.at(static_cast<std::size_t>(kind));
}

}  // namespace

std::string_view singular(EntryKind kind) {
  return row_of(kind).singular;
}

std::string_view plural(EntryKind kind) {
  return row_of(kind).plural;
}

EntryKind entry_kind(std::string_view word) {
  for (const EntryKind kind : all_entry_kinds) {
    if (word == singular(kind) || word == plural(kind)) return kind;
  }
  throw std::logic_error("no catalogue of " + std::string(word));
}

const schema::ObjectInfo& entry_info(EntryKind kind) {
  return row_of(kind).info();
}

void check_entry(EntryKind kind, const schema::ConfigNode& entry, const std::string& path,
                 const schema::ReferenceResolver* references) {
  row_of(kind).check(entry, {path, references});
}

Catalogue Catalogue::built_in() {
  // Cut into entries once a process, and each parsed once: sweeps and searches load scenarios by the thousand.
  static const Catalogue shipped = [] {
    Catalogue catalogue;
    for (const auto& [path, text] : embedded::catalogue_files()) {
      for (const EntryText& entry : entry_texts(text, std::string(path))) {
        catalogue.entries_[entry_kind(entry.section)].emplace(entry.name, Entry(entry));
      }
    }
    return catalogue;  // tests check the entries that ship; using one checks it again
  }();
  return shipped;
}

namespace {

using schema::ConfigNode;
using schema::InputError;
using schema::Origin;

std::string path_of(EntryKind kind, std::string_view name) {
  return fmt::format("{}.{}", plural(kind), name);
}

template <class Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  keys.reserve(map.size());
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

/// `changes` over `base`, the result called `name`.
ConfigNode derived(const ConfigNode& base, const ConfigNode& changes, const ConfigNode& name) {
  ConfigNode entry = ConfigNode::map(changes.origin());
  entry.append("name", name, name.origin());
  const ConfigNode merged = schema::merge(base, changes);
  for (const auto& [key, value, key_origin] : merged.entries()) {
    if (key != "base" && key != "name") entry.append(key, value, key_origin);
  }
  return entry;
}

/// The text of an entry's `base`.
const ConfigNode& base_of(const ConfigNode& entry, std::string_view path) {
  const ConfigNode& base = *entry.find("base");
  if (!base.is_scalar()) {
    throw InputError(base.origin(), fmt::format("{}.base", path),
                     fmt::format("expected the name of an entry, found {}", base.describe()));
  }
  return base;
}

std::string unknown_name(EntryKind kind, std::string_view name, const std::vector<std::string>& names) {
  const std::string meant = schema::meant_entry(name, names);
  const char* const end = meant.empty() || meant.ends_with('?') ? "" : ";";
  return fmt::format("unknown {} \"{}\";{}{}{} `kvsim list {}` names them all", singular(kind), name,
                     meant.empty() ? "" : " ", meant, end, plural(kind));
}

}  // namespace

Catalogue::Entry::Entry(const EntryText& text) : text_(text) {}

Catalogue::Entry::Entry(ConfigNode written, Origin origin) : text_{{}, {}, {}, {}, std::move(origin)} {
  static_cast<void>(written_->get([&] { return std::move(written); }));
}

const ConfigNode& Catalogue::Entry::written() const {
  return written_->get([this] { return read_entry(text_); });
}

void Catalogue::insert(EntryKind kind, const ConfigNode::Entry& entry, bool override_allowed) {
  const std::string path = path_of(kind, entry.key);
  if (!entry.value.is_map()) {
    throw InputError(
        entry.value.is_null() ? entry.key_origin : entry.value.origin(), path,
        fmt::format("expected a map with the keys of {}, found {}", singular(kind), entry.value.describe()));
  }
  if (const ConfigNode* name = entry.value.find("name"); name != nullptr && name->text() != entry.key) {
    throw InputError(name->origin(), path, "an entry's name is its key, expected no other \"name\" in it");
  }
  Entries& entries = entries_[kind];
  const auto existing = entries.find(entry.key);
  if (existing == entries.end()) {
    entries.emplace(entry.key, Entry(entry.value, entry.key_origin));
    return;
  }
  const bool changes_itself = entry.value.find("base") != nullptr && base_of(entry.value, path).text() == entry.key;
  if (changes_itself) {
    ConfigNode changes = entry.value;
    changes.erase("base");
    ConfigNode merged = schema::merge(existing->second.written(), changes);
    existing->second = Entry(std::move(merged), entry.key_origin);
  } else if (override_allowed) {
    existing->second = Entry(entry.value, entry.key_origin);
  } else {
    throw InputError(entry.key_origin, path,
                     fmt::format("exists already ({}); give it another name, or change it with \"base: {}\", or write "
                                 "\"override: true\" at the top of the file",
                                 existing->second.origin().str(), entry.key));
  }
}

void Catalogue::check_bases(EntryKind kind, const std::string& name) const {
  const Entries& entries = entries_.at(kind);
  std::vector<std::string> chain{name};
  for (;;) {
    const ConfigNode& written = entries.find(chain.back())->second.written();
    if (written.find("base") == nullptr) return;
    const std::string path = path_of(kind, chain.back());
    const ConfigNode& base = base_of(written, path);
    if (base.text() == chain.back()) {
      throw InputError(base.origin(), path + ".base", "is its own base, but nothing of this name exists to be changed");
    }
    if (!entries.contains(base.text())) {
      throw InputError(base.origin(), path + ".base", unknown_name(kind, base.text(), keys_of(entries)));
    }
    if (const auto met = std::find(chain.begin(), chain.end(), base.text()); met != chain.end()) {
      // Told from its first name on, wherever it was entered.
      chain.erase(chain.begin(), met);
      std::rotate(chain.begin(), std::min_element(chain.begin(), chain.end()), chain.end());
      const ConfigNode& closing = *entries.find(chain.back())->second.written().find("base");
      throw InputError(closing.origin(), path_of(kind, chain.back()) + ".base",
                       fmt::format("the bases form a circle: {} -> {}", fmt::join(chain, " -> "), chain.front()));
    }
    chain.push_back(base.text());
  }
}

const ConfigNode& Catalogue::resolved(EntryKind kind, const std::string& name, const Entry& entry) const {
  return entry.resolved().get([&] {
    const ConfigNode& written = entry.written();
    const ConfigNode called = ConfigNode::scalar(name, true, entry.origin());
    const ConfigNode* base = written.find("base");
    return derived(base ? find(kind, base->text(), base->origin()) : ConfigNode::map(), written, called);
  });
}

void Catalogue::add(std::span<const ConfigNode> documents) {
  Catalogue next = *this;
  std::vector<std::pair<EntryKind, std::string>> added;
  for (const ConfigNode& document : documents) {
    if (!document.is_map()) {
      throw InputError(document.origin(), fmt::format("expected a map of catalogues, found {}", document.describe()));
    }
    const ConfigNode* override_node = document.find("override");
    const bool override_allowed =
        override_node != nullptr && std::get<bool>(schema::boolean().read(*override_node, "override"));
    for (const auto& section : document.entries()) {
      if (section.key == "override") continue;
      const auto kind = std::find_if(all_entry_kinds.begin(), all_entry_kinds.end(),
                                     [&](EntryKind k) { return plural(k) == section.key; });
      if (kind == all_entry_kinds.end()) {
        std::vector<std::string> known{"override"};
        for (const EntryKind k : all_entry_kinds) known.emplace_back(plural(k));
        throw InputError(section.key_origin,
                         fmt::format("unknown catalogue \"{}\"{}", section.key, schema::suggest(section.key, known)));
      }
      if (!section.value.is_map()) {
        throw InputError(section.value.origin(), section.key,
                         fmt::format("expected a map of entries, found {}", section.value.describe()));
      }
      for (const auto& entry : section.value.entries()) {
        next.insert(*kind, entry, override_allowed);
        added.emplace_back(*kind, entry.key);
      }
    }
  }
  // A changed entry changes those that have it as base.
  for (auto& [kind, entries] : next.entries_) {
    for (auto& [name, entry] : entries) entry.resolve_again();
  }
  for (const auto& [kind, name] : std::set(added.begin(), added.end())) next.check_bases(kind, name);
  for (const auto& [kind, name] : added) {
    check_entry(kind, next.find(kind, name), path_of(kind, name), &next);
    if (kind == EntryKind::profile) next.check_measured_on(name);
  }
  *this = std::move(next);
}

std::optional<Catalogue::Contradiction> Catalogue::contradiction(const KernelProfile& p) const {
  if (p.measured_on.empty() || !p.machine) return std::nullopt;
  if (p.measured_on == "none") {
    return Contradiction{"machine", "the datasheet of the GPU that was measured, which measured_on says is none"};
  }
  const auto gpus = entries_.find(EntryKind::gpu);
  if (gpus == entries_.end() || gpus->second.empty()) return std::nullopt;  // a catalogue without any
  if (!contains(EntryKind::gpu, p.measured_on)) {
    return Contradiction{"measured_on", unknown_name(EntryKind::gpu, p.measured_on, keys_of(gpus->second))};
  }
  const GpuSpec known = gpu(p.measured_on);
  const MeasuredMachine& m = *p.machine;
  const auto compare = [&](const char* key, double says, double is) -> std::optional<Contradiction> {
    constexpr double kSame = 0.05;
    if (std::abs(says - is) <= kSame * is) return std::nullopt;
    return Contradiction{std::string("machine.") + key,
                         fmt::format("{:.4g} for {}, whose catalogue entry has {:.4g}", says, p.measured_on, is)};
  };
  for (const auto& [key, says, is] :
       {std::tuple{"memory_bandwidth", m.memory_bytes_per_s.value, known.memory_bytes_per_s.value},
        {"bf16_peak", m.bf16_flops_per_s.value, known.bf16_flops_per_s.value},
        {"fp8_peak", m.fp8_flops_per_s.value, known.fp8_flops_per_s.value},
        {"multiprocessors", m.multiprocessors, known.multiprocessors.value},
        {"l2_cache", static_cast<double>(m.l2_bytes), static_cast<double>(known.l2_bytes.value)}}) {
    if (auto c = compare(key, says, is)) return c;
  }
  if (!m.architecture.empty() && m.architecture != known.architecture) {
    return Contradiction{"machine.architecture", fmt::format("{} for {}, whose catalogue entry has {}", m.architecture,
                                                             p.measured_on, known.architecture)};
  }
  if (m.fp4_flops_per_s.value <= 0) return std::nullopt;  // profiles from before there were such kernels
  return compare("fp4_peak", m.fp4_flops_per_s.value, known.fp4_flops_per_s.value);
}

void Catalogue::check_measured_on(const std::string& name) const {
  const auto found = contradiction(profile(name));
  if (!found) return;
  const ConfigNode* at = &find(EntryKind::profile, name);
  for (std::size_t begin = 0; begin < found->key.size();) {
    const std::size_t end = std::min(found->key.find('.', begin), found->key.size());
    if (const ConfigNode* next = at->find(found->key.substr(begin, end - begin))) at = next;
    begin = end + 1;
  }
  throw InputError(at->origin(), path_of(EntryKind::profile, name) + "." + found->key, found->message);
}

void Catalogue::add_files(std::span<const std::string> paths) {
  std::vector<ConfigNode> documents;
  for (const std::string& path : paths) documents.push_back(schema::read_yaml_file(path));
  add(documents);
}

bool Catalogue::contains(EntryKind kind, std::string_view name) const {
  const auto entries = entries_.find(kind);
  return entries != entries_.end() && entries->second.find(name) != entries->second.end();
}

const ConfigNode& Catalogue::find(EntryKind kind, std::string_view name, const Origin& asked_at,
                                  std::string_view path) const {
  const auto entries = entries_.find(kind);
  if (entries != entries_.end()) {
    const auto found = entries->second.find(name);
    if (found != entries->second.end()) return resolved(kind, found->first, found->second);
  }
  const auto names = entries == entries_.end() ? std::vector<std::string>() : keys_of(entries->second);
  throw InputError(asked_at, path, unknown_name(kind, name, names));
}

std::vector<Catalogue::Line> Catalogue::list(EntryKind kind) const {
  std::vector<Line> lines;
  const auto entries = entries_.find(kind);
  if (entries == entries_.end()) return lines;
  for (const auto& [name, entry] : entries->second) {
    const ConfigNode* description = resolved(kind, name, entry).find("description");
    lines.push_back({name, description ? description->text() : std::string(), entry.origin()});
  }
  return lines;
}

GpuSpec Catalogue::gpu(std::string_view name, const Origin& asked_at) const {
  return gpu_schema().parse(find(EntryKind::gpu, name, asked_at), {path_of(EntryKind::gpu, name), this});
}

LinkSpec Catalogue::link(std::string_view name, const Origin& asked_at) const {
  return link_schema().parse(find(EntryKind::link, name, asked_at), {path_of(EntryKind::link, name), this});
}

LlmSpec Catalogue::model(std::string_view name, const Origin& asked_at) const {
  return llm_schema().parse(find(EntryKind::model, name, asked_at), {path_of(EntryKind::model, name), this});
}

CompressorSpec Catalogue::compressor(std::string_view name, const Origin& asked_at) const {
  return compressor_schema().parse(find(EntryKind::compressor, name, asked_at),
                                   {path_of(EntryKind::compressor, name), this});
}

DrafterSpec Catalogue::drafter(std::string_view name, const Origin& asked_at) const {
  return drafter_schema().parse(find(EntryKind::drafter, name, asked_at), {path_of(EntryKind::drafter, name), this});
}

KernelProfile Catalogue::profile(std::string_view name, const Origin& asked_at) const {
  return profile_schema().parse(find(EntryKind::profile, name, asked_at), {path_of(EntryKind::profile, name), this});
}

AttentionProfile Catalogue::attention_profile(std::string_view name, const Origin& asked_at) const {
  return attention_profile_schema().parse(find(EntryKind::attention_profile, name, asked_at),
                                          {path_of(EntryKind::attention_profile, name), this});
}

DatasetSpec Catalogue::dataset(std::string_view name, const Origin& asked_at) const {
  return dataset_schema().parse(find(EntryKind::dataset, name, asked_at), {path_of(EntryKind::dataset, name), this});
}

RagTask Catalogue::rag_task(std::string_view name, const Origin& asked_at) const {
  return rag_task_schema().parse(find(EntryKind::rag_task, name, asked_at), {path_of(EntryKind::rag_task, name), this});
}

EngineSpec Catalogue::engine(std::string_view name, const Origin& asked_at) const {
  return engine_schema().parse(find(EntryKind::engine, name, asked_at), {path_of(EntryKind::engine, name), this});
}

ConfigNode Catalogue::resolve(std::string_view catalogue, const ConfigNode& reference, std::string_view path) const {
  const EntryKind kind = entry_kind(catalogue);
  if (reference.is_scalar()) return find(kind, reference.text(), reference.origin(), path);
  if (!reference.is_map()) {
    throw InputError(reference.origin(), path,
                     fmt::format("expected the name of {} or a map, found {}", schema::with_article(catalogue),
                                 reference.describe()));
  }
  const ConfigNode* name = reference.find("name");
  if (reference.find("base") == nullptr) {
    return derived(ConfigNode::map(), reference, name ? *name : ConfigNode::scalar("inline", true, reference.origin()));
  }
  const ConfigNode& base = base_of(reference, path);
  const ConfigNode& entry = find(kind, base.text(), base.origin(), fmt::format("{}.base", path));
  return derived(entry, reference, name ? *name : ConfigNode::scalar(base.text() + " (changed)", true, base.origin()));
}

}  // namespace kvsim::models
