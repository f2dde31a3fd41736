// Moves values between scalars and struct members of the usual types. Internal to object_schema.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/schema/error.h"
#include "models/schema/scalar_spec.h"
#include "models/schema/sourced.h"

namespace kvsim::schema::detail {

enum class MemberKind { boolean, whole, real, text, enumeration };

template <class V>
constexpr MemberKind member_kind() {
  if constexpr (std::is_same_v<V, bool>) {
    return MemberKind::boolean;
  } else if constexpr (std::is_integral_v<V>) {
    return MemberKind::whole;
  } else if constexpr (std::is_floating_point_v<V>) {
    return MemberKind::real;
  } else if constexpr (std::is_enum_v<V>) {
    return MemberKind::enumeration;
  } else {
    static_assert(std::is_same_v<V, std::string>, "no scalar field can be of this type");
    return MemberKind::text;
  }
}

/// Throws std::logic_error where a member of this kind cannot hold what the spec reads.
void require_compatible(const ScalarSpec& spec, MemberKind member, std::string_view field);

[[noreturn]] void refuse_narrow(const ConfigNode& node, std::string_view path);

struct SourcedScalar {
  ScalarValue value;
  Source source;
};
SourcedScalar read_sourced(const ScalarSpec& spec, const ConfigNode& node, std::string_view path);
ConfigNode write_sourced(ConfigNode value, const Source& source);

/// The vocabulary of `source:` with its meanings.
ScalarSpec source_kind_spec();
/// A figure that names a document must say which one.
[[nodiscard]] bool needs_reference(SourceKind kind);

template <class V>
struct is_sourced : std::false_type {};
template <class V>
struct is_sourced<Sourced<V>> : std::true_type {};

template <class V>
struct unwrapped {  ///< V of std::optional<V>, std::vector<V> and V itself
  using type = V;
};
template <class V>
struct unwrapped<std::optional<V>> {
  using type = V;
};
template <class V>
struct unwrapped<std::vector<V>> {
  using type = V;
};
template <class V>
using unwrapped_t = typename unwrapped<V>::type;

template <class V>
struct is_optional : std::false_type {};
template <class V>
struct is_optional<std::optional<V>> : std::true_type {};

/// The innermost type of a scalar member: V of Sourced<V>.
template <class V>
struct bare {
  using type = V;
};
template <class V>
struct bare<Sourced<V>> {
  using type = V;
};
template <class V>
using bare_t = typename bare<V>::type;

template <class V>
void store(V& member, ScalarValue value, const ConfigNode& node, std::string_view path) {
  if constexpr (std::is_same_v<V, bool>) {
    member = std::get<bool>(value);
  } else if constexpr (std::is_integral_v<V>) {
    const std::int64_t whole = std::get<std::int64_t>(value);
    if (!std::in_range<V>(whole)) refuse_narrow(node, path);
    member = static_cast<V>(whole);
  } else if constexpr (std::is_floating_point_v<V>) {
    const auto* whole = std::get_if<std::int64_t>(&value);
    member = static_cast<V>(whole ? static_cast<double>(*whole) : std::get<double>(value));
  } else if constexpr (std::is_enum_v<V>) {
    member = static_cast<V>(std::get<std::int64_t>(value));
  } else {
    member = std::get<std::string>(std::move(value));
  }
}

template <class V>
ScalarValue load(const V& member, const ScalarSpec& spec) {
  constexpr bool whole_number = std::is_integral_v<V> && !std::is_same_v<V, bool>;
  if constexpr (whole_number || std::is_enum_v<V>) {
    return static_cast<std::int64_t>(member);
  } else if constexpr (std::is_floating_point_v<V>) {
    const auto value = static_cast<double>(member);
    const bool whole = is_integral(spec.dimension()) && std::abs(value) < 9.2e18;
    return whole ? ScalarValue(static_cast<std::int64_t>(std::llround(value))) : ScalarValue(value);
  } else {
    return member;
  }
}

template <class V>
void read_member(V& member, const ScalarSpec& spec, const ConfigNode& node, std::string_view path) {
  if constexpr (is_sourced<V>::value) {
    SourcedScalar read = read_sourced(spec, node, path);
    store(member.value, std::move(read.value), node, path);
    member.source = std::move(read.source);
  } else {
    store(member, spec.read(node, path), node, path);
  }
}

/// No value where the spec would not read it back, which is how "not given" looks in a plain member.
template <class V>
std::optional<ConfigNode> write_member(const V& member, const ScalarSpec& spec) {
  if constexpr (is_sourced<V>::value) {
    auto value = write_member(member.value, spec);
    if (value) value = write_sourced(std::move(*value), member.source);
    return value;
  } else {
    const ScalarValue value = load(member, spec);
    if (!spec.accepts(value)) return std::nullopt;
    return spec.write(value);
  }
}

}  // namespace kvsim::schema::detail
