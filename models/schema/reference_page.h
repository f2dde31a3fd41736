// The reference of several field tables as Markdown: a section for every map, with a row for every key.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/schema/object_info.h"

namespace kvsim::schema {

/// Text as a cell of a table, which bars and ends of lines would end.
std::string table_cell(std::string_view text);

/// The anchor that code hosts give to a heading: "`cluster.gpu`" is reached by #clustergpu.
std::string anchor_of(std::string_view heading);

/// Collects the sections of a page. A map that occurs at several places is described at the first of them, and the
/// others point there.
class ReferencePage {
 public:
  struct Section {
    std::string title;  ///< the path of the map as `--set` takes it: "cluster.gpu"
    std::string text;   ///< its sentence, what excludes what, the table of keys, the words that keys take
  };

  using Catalogues = std::map<std::string, std::string, std::less<>>;

  ReferencePage() = default;
  /// `catalogues`: the title of the section that describes the entries of a kind ("gpu"), for references to them.
  explicit ReferencePage(Catalogues catalogues) : catalogues_(std::move(catalogues)) {}

  /// A section for the object, then one for every map in it that has none yet. Titles of those begin with `prefix`.
  void add(const ObjectInfo& info, const std::string& title, const std::string& prefix = {});

  [[nodiscard]] const std::vector<Section>& sections() const { return sections_; }

 private:
  [[nodiscard]] std::string value_cell(const FieldInfo& field) const;
  std::string words(const FieldInfo& field, const std::string& title);
  std::string table(const ObjectInfo& info, const std::string& title);
  void describe(const ObjectInfo& info, const std::string& title, const std::string& prefix);

  Catalogues catalogues_;
  std::map<std::string, std::string, std::less<>> titles_;  ///< by everything that a reader sees of the fields
  std::map<std::string, std::string, std::less<>> words_;   ///< lists of words: the section that has them
  std::vector<Section> sections_;
};

}  // namespace kvsim::schema
