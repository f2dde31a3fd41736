// A model's config.json and, behind it, the file of its quantisation: an entry of the catalogue, or an InputError.
#include <optional>

#include "models/llm/config_import.h"
#include "models/llm/llm_spec.h"
#include "models/schema/yaml.h"
#include "models/schemas.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim;
  std::string_view text = fuzz::text_of(data, size);
  const std::string_view config = fuzz::next_file(text);
  fuzz::read_or_refused([&] {
    std::optional<schema::ConfigNode> quantisation;
    if (!text.empty()) quantisation = schema::read_yaml(text, "hf_quant_config.json");
    const models::ImportedModel imported =
        models::import_model(schema::read_yaml(config, "config.json"), quantisation ? &*quantisation : nullptr);
    static_cast<void>(models::llm_schema().parse(imported.entry, {}));
  });
  return 0;
}
