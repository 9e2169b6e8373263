"""Models as the sum of their unique layers: taken apart, written as definitions, put together."""
