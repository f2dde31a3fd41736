#include "catalogue_files.h"  // generated: models/*/catalogue/*.yaml
#include "models/catalogue/catalogue.h"
#include "models/schema/yaml_reader.h"

namespace kvsim::models {

Catalogue Catalogue::built_in() {
  std::vector<schema::ConfigNode> documents;
  for (const auto& [path, text] : embedded::catalogue_files()) {
    documents.push_back(schema::read_yaml(text, std::string(path)));
  }
  Catalogue catalogue;
  catalogue.add(documents, false);  // tests check the entries that ship; using one checks it again
  return catalogue;
}

}  // namespace kvsim::models
