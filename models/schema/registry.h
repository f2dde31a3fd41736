// A registry is the list of things of one kind that a scenario may name: eviction orders, routers, trace formats. Each
// is a file that returns its entry; cmake/registry.cmake makes the list of the files of a folder. An entry has a name
// and a description, which the schema, `kvsim list` and the completion show.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace kvsim::schema {

/// A place in lists behind all that name one. Entries with equal places are listed by name.
inline constexpr int kListedLast = 1000;

/// The entries in the order in which users see them: by `place`, then by name.
template <class Entry>
std::vector<Entry> listed(std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::pair(a.place, a.name) < std::pair(b.place, b.name); });
  return entries;
}

/// The entry of this name, or null.
template <class Entry>
const Entry* find_named(std::span<const Entry> entries, std::string_view name) {
  const auto it = std::find_if(entries.begin(), entries.end(), [name](const Entry& e) { return e.name == name; });
  return it == entries.end() ? nullptr : &*it;
}

}  // namespace kvsim::schema
