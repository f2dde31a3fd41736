// Lists of measured fields: the name of each, and how those of two runs become one. Every measured struct has one,
// fields_of(), beside it; merging and comparing go through these lists, so that a field is known to both or does not
// compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sim/transport/link.h"

namespace kvsim::serving {

/// How a field of two runs becomes one.
enum class Merge : std::uint8_t {
  join,     ///< numbers add up, samples and verdicts follow each other; parts and maps field by field, key by key
  largest,  ///< peaks
  mean,     ///< over time: weighted by the capacity_s beside it
  none      ///< of a single run: the first one's stays
};

template <class Owner, class T, Merge how>
struct Field {
  const char* name;
  T Owner::*member;
  static constexpr Merge merge = how;
};

template <Merge how = Merge::join, class Owner, class T>
constexpr Field<Owner, T, how> field(const char* name, T Owner::*member) {
  return {name, member};
}

constexpr auto fields_of(const transport::LinkTotals*) {
  using M = transport::LinkTotals;
  return std::tuple{field("busy_s", &M::busy_s), field("capacity_s", &M::capacity_s), field("bytes", &M::bytes),
                    field("wait_s", &M::wait_s), field("transfers", &M::transfers),   field("links", &M::links)};
}

namespace internal {

/// Converts to any member of an aggregate; never evaluated.
struct Anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};

/// The number of members of an aggregate.
template <class T, class... Members>
constexpr std::size_t member_count() {
  if constexpr (requires { T{Members{}..., Anything{}}; }) {
    return member_count<T, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}

}  // namespace internal

/// Types that have fields of their own.
template <class T>
concept Measured = requires {
  fields_of(static_cast<const T*>(nullptr));
};

/// Calls `visit` with every Field of M, in order.
template <Measured M, class Visit>
void for_each_field(Visit&& visit) {
  constexpr auto fields = fields_of(static_cast<const M*>(nullptr));
  static_assert(std::tuple_size_v<decltype(fields)> == internal::member_count<M>(),
                "every member is listed in fields_of, once");
  std::apply([&visit](const auto&... each) { (visit(each), ...); }, fields);
}

}  // namespace kvsim::serving
