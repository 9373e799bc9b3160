"""Fair decision rules from noisy group rates, and certificates for them."""
