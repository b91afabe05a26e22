// The encrypted_content of OpenAI's reasoning items: what a client keeps for the server and sends
// back, even where it drops the readable text. Ours is the reasoning itself in base64: a client
// that gets it may read it anyway, and no key has to outlive the server.
#ifndef FOLIO_API_ENCRYPTED_CONTENT_H_
#define FOLIO_API_ENCRYPTED_CONTENT_H_

#include <optional>
#include <string>
#include <string_view>

namespace folio {

std::string EncryptedContent(std::string_view reasoning);
// The reasoning, byte for byte; nothing where another server made it.
std::optional<std::string> DecryptedContent(std::string_view content);

}  // namespace folio

#endif  // FOLIO_API_ENCRYPTED_CONTENT_H_
