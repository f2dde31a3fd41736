// A page of results: headings, tables and lists, written for a terminal or as Markdown from the same structure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/results/look.h"

namespace kvsim::results {

enum class Align { left, right };

struct Table {
  std::string title;
  std::vector<std::string> header;  ///< empty: rows speak for themselves; "\n" breaks a word's line on a terminal
  std::vector<Align> align;         ///< of every column
  std::vector<std::vector<std::string>> rows;
  /// One character behind a cell, by row and column; a blank, or nothing there: none. Columns that have one line up.
  std::vector<std::string> marks = {};
  /// On a terminal with colour, by row and column; nothing there: plain, and marked cells stand out anyway.
  std::vector<std::vector<Look>> looks = {};
};

/// Label, number, remark.
Table key_figures(std::string title);

/// Words on the left, figures to the right of them.
Table with_columns(std::string title, std::vector<std::string> header);

struct List {
  std::string title;
  std::vector<std::string> items;
};

struct Page {
  std::string title;
  std::vector<std::string> subtitle;  ///< lines of prose
  std::vector<Table> tables;
  std::vector<List> lists;  ///< empty ones are left out
};

struct TextStyle {
  bool colour = false;
  std::size_t width = 100;  ///< columns at which prose is wrapped
};

std::string to_text(const Page& page, const TextStyle& style = {});
std::string to_markdown(const Page& page);

/// Columns that UTF-8 text takes on a terminal, every character one.
std::size_t display_width(std::string_view text);

}  // namespace kvsim::results
