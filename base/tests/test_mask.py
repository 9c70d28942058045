"""What masking could miss, and what it could take for an address or a key although it is none."""

import json
import unittest

from base.mask import Masks


def mask_values(value):
    """(the value masked, {kind: different strings replaced})."""
    masks = Masks()
    return masks.value(value), masks.counts()


class Masking(unittest.TestCase):
    def test_each_shape_and_what_only_looks_like_one(self):
        hidden = {"mail jo.e+x@sub.example.org now": "mail [mail address 1] now",
                  "host 10.0.12.255:80": "host [IP address 1]:80",
                  "ping 2001:db8::8a2e:370:7334": "ping [IP address 1]", "use sk-abcdefghijklmnop1234": "use [key 1]",
                  "AKIAABCDEFGHIJKLMNOP here": "[key 1] here", 'password = "hunter2hunter"': 'password = "[secret 1]"',
                  "sha 0123456789abcdef0123456789abcdef": "sha [key 1]",
                  "-----BEGIN RSA PRIVATE KEY-----\nMIIx\n-----END RSA PRIVATE KEY-----": "[private key 1]",
                  "token: eyJhbGciOiJI.eyJzdWIiOiIx.abc": "token: [web token 1]",
                  "AKIAABCDEFGHIJKLMNOP secret wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKY": "[key 2] secret [key 1]",
                  "ghp_abcdefghijklmnopqrst12 and xoxb-123456789012-abc": "[key 1] and [key 2]",
                  "card 4111 1111 1111 1111, or 378282246310005.": "card [card number 1], or [card number 2].",
                  "to DE89 3704 0044 0532 0130 00 or GB29NWBK60161331926819": "to [IBAN 1] or [IBAN 2]",
                  "call +49 (0)30 1234567 or 0171 2345678": "call [telephone number 1] or [telephone number 2]",
                  "(555) 123-4567, 555-123-4567": "[telephone number 1], [telephone number 2]",
                  "+1 555.123.4567": "[telephone number 1]"}
        for text, wanted in hidden.items():
            with self.subTest(text):
                self.assertEqual(mask_values([text])[0], [wanted])
        for text in ("version 1.2.3", "at 10:30:15", "a@b", "std::vector", "the password is short", "a" * 40,
                     "1.2.3.4.5", "4111 1111 1111 1112", "DE88370400440532013000", "1765232465306",
                     "2026-11-30 21:05:13", "@@ -10,7 +10,8 @@", "+1234567", "0644 1234", "line 123-456",
                     "id 123456789012", "5.10.2026 12.30"):
            with self.subTest(text):
                self.assertEqual(mask_values([text]), ([text], {}))

    def test_a_secret_is_known_by_its_name_in_an_object_and_in_json_as_text(self):
        self.assertEqual(mask_values({"api_key": "short1", "max_tokens": "1000000"})[0],
                         {"api_key": "[secret 1]", "max_tokens": "1000000"})
        arguments = '{"password": "hunter2hunter", "token":12345678, "n": 1.0, "to": "x@example.com"}'
        self.assertEqual(json.loads(mask_values([arguments])[0][0]),
                         {"password": "[secret 1]", "token": "[secret 2]", "n": 1.0, "to": "[mail address 1]"})
        self.assertEqual(mask_values(['{"n":1,  "to": "port 80"}'])[0], ['{"n":1,  "to": "port 80"}'])
        for odd in ('{"password": "hunter2hunter", "password": ""}', '{"password": "hunter2hunter", "n": NaN}',
                    '{"password": "hunter2hunter", "n": 1e999}', '{"password": "hunter2hunter", "n":'):
            self.assertNotIn("hunter2", mask_values([odd])[0][0])

    def test_the_same_string_gets_the_same_mark_everywhere_and_another_gets_another(self):
        value, numbers = mask_values({"a": "x@example.com y@example.com", "b": ["x@example.com"], "c": 3})
        self.assertEqual(value, {"a": "[mail address 1] [mail address 2]", "b": ["[mail address 1]"], "c": 3})
        self.assertEqual(numbers, {"mail address": 2})
