// SPDX-License-Identifier: Apache-2.0
// libcurl behind http_get. No exception passes through it.
#include "data/download.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <array>
#include <memory>
#include <new>
#include <string_view>

#include "nibble/core/error.h"
#include "nibble/version.h"

namespace nibble::inline data {
namespace {

constexpr long kConnectSeconds = 30;
constexpr long kSilentSeconds = 60;  // without a byte
constexpr long kMostRedirects = 5;

struct Transfer {
  const HttpRequest& request;
  std::vector<std::byte> bytes;
  bool is_too_long = false;
  bool is_stopped = false;
};

extern "C" {

static std::size_t http_take(char* data, std::size_t one, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t size = one * count;
  transfer.is_too_long = size > transfer.request.most_bytes - transfer.bytes.size();
  if (transfer.is_too_long) return 0;
  try {
    const auto* begin = reinterpret_cast<const std::byte*>(data);
    transfer.bytes.insert(transfer.bytes.end(), begin, begin + size);
  } catch (const std::bad_alloc&) {
    transfer.is_too_long = true;
    return 0;
  }
  return size;
}

static int http_step(void* user, curl_off_t total, curl_off_t received, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (!transfer.request.on_progress) return 0;
  try {
    transfer.is_stopped = !transfer.request.on_progress(static_cast<std::uint64_t>(received),
                                                        static_cast<std::uint64_t>(total));
  } catch (...) {
    transfer.is_stopped = true;
  }
  return transfer.is_stopped ? 1 : 0;
}

}  // extern "C"

[[noreturn]] void fail(const std::string& address, const std::string& why) {
  throw Error("download", fmt::format("{}: {}", address, why), ErrorKind::system);
}

std::string url_part(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return "";
  const std::unique_ptr<char, void (*)(void*)> owner(text, curl_free);
  return text;
}

// Whether the address is http on this machine; throws when it is neither that nor https.
bool is_local_http(const HttpRequest& request) {
  const std::unique_ptr<CURLU, void (*)(CURLU*)> url(curl_url(), curl_url_cleanup);
  if (!url) throw std::bad_alloc();
  if (curl_url_set(url.get(), CURLUPART_URL, request.address.c_str(), 0) != CURLUE_OK) {
    fail(request.address, "not an address");
  }
  const std::string scheme = url_part(url.get(), CURLUPART_SCHEME);
  if (scheme == "https") return false;
  const std::string host = url_part(url.get(), CURLUPART_HOST);
  const bool is_local = host == "localhost" || host == "127.0.0.1" || host == "[::1]";
  if (scheme == "http" && is_local && request.is_local_allowed) return true;
  throw Error("download", request.address + ": protocol", scheme,
              request.is_local_allowed ? "https, or http on localhost" : "https");
}

void set_protocols(CURL* curl, bool is_local) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, is_local ? "http" : "https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https");
#else
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS, long{is_local ? CURLPROTO_HTTP : CURLPROTO_HTTPS});
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, long{CURLPROTO_HTTPS});
#endif
  // What is asked of this machine is asked of no other.
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, is_local ? 0L : 1L);
  if (is_local) curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
}

}  // namespace

bool has_http() {
  return true;
}

std::vector<std::byte> http_get(const HttpRequest& request) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) fail(request.address, curl_easy_strerror(started));
  const bool is_local = is_local_http(request);
  const std::unique_ptr<CURL, void (*)(CURL*)> owner(curl_easy_init(), curl_easy_cleanup);
  CURL* curl = owner.get();
  if (curl == nullptr) throw std::bad_alloc();
  Transfer transfer{.request = request, .bytes = {}};
  std::array<char, CURL_ERROR_SIZE> why{};
  set_protocols(curl, is_local);
  curl_easy_setopt(curl, CURLOPT_URL, request.address.c_str());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, fmt::format("nibble/{}", kVersion).c_str());
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kMostRedirects);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why.data());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, http_take);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, http_step);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  const CURLcode code = curl_easy_perform(curl);
  if (transfer.is_stopped) fail(request.address, "stopped");
  if (transfer.is_too_long) {
    fail(request.address, fmt::format("more than {} bytes", request.most_bytes));
  }
  if (code != CURLE_OK)
    fail(request.address, why[0] != '\0' ? why.data() : curl_easy_strerror(code));
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) fail(request.address, fmt::format("the server answers {}", status));
  return std::move(transfer.bytes);
}

}  // namespace nibble::inline data
