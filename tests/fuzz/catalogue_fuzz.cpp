// A file of catalogue entries, as scenarios include: machines, links, models, profiles and the rest, each read as what
// it is, or refused with an InputError.
#include "models/catalogue/catalogue.h"

#include "models/schema/yaml.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim;
  using models::Catalogue;
  using models::EntryKind;
  static const Catalogue built_in = Catalogue::built_in();
  const std::string_view text = fuzz::text_of(data, size);
  Catalogue catalogue = built_in;
  if (!fuzz::read_or_refused([&] {
        const schema::ConfigNode document = schema::read_yaml(text, "entries.yaml");
        catalogue.add({&document, 1});
      })) {
    return 0;
  }
  const auto each = [&](EntryKind kind, const auto& read) {
    for (const Catalogue::Line& line : catalogue.list(kind)) {
      if (built_in.contains(kind, line.name)) continue;
      fuzz::read_or_refused([&] { static_cast<void>(read(line.name)); });
    }
  };
  each(EntryKind::gpu, [&](const std::string& name) { return catalogue.gpu(name); });
  each(EntryKind::link, [&](const std::string& name) { return catalogue.link(name); });
  each(EntryKind::model, [&](const std::string& name) { return catalogue.model(name); });
  each(EntryKind::compressor, [&](const std::string& name) { return catalogue.compressor(name); });
  each(EntryKind::drafter, [&](const std::string& name) { return catalogue.drafter(name); });
  each(EntryKind::profile, [&](const std::string& name) { return catalogue.profile(name); });
  each(EntryKind::attention_profile, [&](const std::string& name) { return catalogue.attention_profile(name); });
  each(EntryKind::dataset, [&](const std::string& name) { return catalogue.dataset(name); });
  each(EntryKind::rag_task, [&](const std::string& name) { return catalogue.rag_task(name); });
  each(EntryKind::engine, [&](const std::string& name) { return catalogue.engine(name); });
  return 0;
}
