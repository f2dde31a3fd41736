// kvsim model import: a catalogue entry from a model's Hugging Face config.json.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/llm/config_import.h"
#include "models/schema/error.h"
#include "models/schemas.h"
#include "tools/cli/command.h"
#include "tools/cli/entry_text.h"
#include "tools/cli/output_files.h"

namespace kvsim::cli {
namespace model_internal {
namespace {

struct Options {
  std::string config;
  std::string quantisation;
  std::string name;
  std::string as;
  std::string out;
  bool force = false;
};

void import(Console& console, const Options& options) {
  refuse_to_overwrite(options.out, options.force);
  const std::vector<std::string> inputs{options.config, options.quantisation};
  refuse_input("--out", options.out, inputs);
  const models::ImportedModel imported = models::import_model_file(options.config, options.quantisation, options.as);
  const models::LlmSpec model = models::llm_schema().parse(imported.entry, {});
  std::string text;
  for (const std::string& remark : imported.remarks) text += fmt::format("# {}\n", remark);
  text += model_facts(model);
  text += entry_text(models::EntryKind::model, options.name.empty() ? model.name : options.name, imported.entry);
  if (options.out.empty()) return console.print(text);
  PendingFile file(options.out);
  file.write(text);
  file.commit();
  console.print(fmt::format("{}{}: name it under `include` of a scenario\n", model_facts(model), options.out));
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.require_subcommand(1);
  CLI::App* sub = app.add_subcommand("import", "Make a catalogue entry of a Hugging Face config.json");
  sub->footer(
      "Examples:\n  kvsim model import Qwen3-8B/config.json\n"
      "  kvsim model import config.json --name mine --out mine.yaml\n"
      "  kvsim model import new/config.json --as qwen3_moe");
  sub->add_option("CONFIG", options->config, "The model's config.json")->required()->type_name("FILE");
  sub->add_option("--quantisation", options->quantisation,
                  "The file of its quantisation. Default: hf_quant_config.json beside it, where there is one")
      ->type_name("FILE");
  sub->add_option("--as", options->as, "Read the fields as those of this model_type, where its own is not known")
      ->type_name("TYPE");
  sub->add_option("--name", options->name, "Name of the entry. Default: the folder's")->type_name("NAME");
  sub->add_option("--out", options->out, "Write to FILE instead of stdout")->type_name("FILE");
  sub->add_flag("--force", options->force, "Replace a file that exists");
  return [options](Console& console) { import(console, *options); };
}

}  // namespace
}  // namespace model_internal

extern const Command model_command;
const Command model_command{"model", "Work with models' own configurations",
                            "kvsim model import Qwen3-8B/config.json --out qwen3-8b.yaml", model_internal::declare};

}  // namespace kvsim::cli
