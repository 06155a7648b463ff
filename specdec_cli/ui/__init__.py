"""What a person sees: draws values, knows no service. stdout is the product; everything else goes to stderr."""
